"""Policy: what training leaves behind, a normaliser and a small network, in a file that needs no trainer.

The file is NumPy's (.npz) with arrays and one text (JSON): the card, which says what the policy is for and where it
comes from. Nothing in it is pickled.
"""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from softground.arrays import Array
from softground.envs.environment import Environment
from softground.errors import FileFormatError, OptionError, unknown_name
from softground.whole_file import write_whole

#: Folder of the policies that come with the package.
SHIPPED = Path(__file__).parent / "policies"
FORMAT = "softground policy 1"
ACTIVATIONS = {"elu": jax.nn.elu, "swish": jax.nn.swish, "relu": jax.nn.relu, "tanh": jnp.tanh}


class Policy(eqx.Module):
    """Observation -> action: a network of layers, on observations less their mean over their deviation.

    card: what it is for ("task", "observations") and where it comes from. bound: actions are bound x tanh of what the
    network says; None: just that, as the environment cuts it.

    >>> import numpy as np, softground as sg
    >>> zeros = [(np.zeros((12, 48)), np.zeros(12))]
    >>> policy = sg.envs.Policy(np.zeros(48), np.ones(48), zeros, card={"task": "go1"})
    >>> policy(np.ones(48)).shape
    (12,)
    """

    mean: Float[Array, " k"]  # in the units of the observations
    deviation: Float[Array, " k"]  # in the units of the observations
    layers: tuple[tuple[Float[Array, "m n"], Float[Array, " m"]], ...]  # weights and biases, first layer first
    activation: str = eqx.field(static=True)
    bound: float | None = eqx.field(static=True)  # in units of an action
    card: Mapping[str, Any] = eqx.field(static=True)

    def __init__(
        self,
        mean: Array,
        deviation: Array,
        layers: Sequence[tuple[Array, Array]],
        activation: str = "elu",
        bound: float | None = None,
        card: Mapping[str, Any] | None = None,
    ):
        if activation not in ACTIVATIONS:
            raise OptionError(unknown_name("activation", activation, ACTIVATIONS))
        self.mean, self.deviation = mean, deviation
        self.layers = tuple((weights, biases) for weights, biases in layers)
        self.activation, self.bound, self.card = activation, bound, _Card(card or {})
        width = len(mean)
        for number, (weights, biases) in enumerate(self.layers):
            if weights.shape[1] != width or biases.shape != weights.shape[:1]:
                raise OptionError(
                    f"layer {number} of a policy must take {width} numbers and have a bias for every row, got weights "
                    f"{weights.shape} and biases {biases.shape}"
                )
            width = len(weights)

    def __call__(self, observation: Float[Array, "*n k"]) -> Float[Array, "*n m"]:
        """The action for an observation ("state" of an environment), or for each of many."""
        x = (observation - self.mean) / self.deviation
        for number, (weights, biases) in enumerate(self.layers):
            x = x @ weights.T + biases
            if number < len(self.layers) - 1:
                x = ACTIVATIONS[self.activation](x)
        return x if self.bound is None else self.bound * jnp.tanh(x)

    def without_card(self) -> Policy:
        """The same numbers alone: policies of one size then share compiled programs."""
        return Policy(self.mean, self.deviation, self.layers, self.activation, self.bound)

    def save(self, path: str | Path) -> Path:
        """Write it to a file (.npz), whole."""
        arrays: dict[str, Any] = {"mean": self.mean, "deviation": self.deviation}
        for number, (weights, biases) in enumerate(self.layers):
            arrays |= {f"weights_{number}": weights, f"biases_{number}": biases}
        about = {"format": FORMAT, "activation": self.activation, "bound": self.bound, "card": dict(self.card)}
        text = np.frombuffer(json.dumps(about).encode(), np.uint8)
        path = Path(path).with_suffix(".npz")
        arrays = {name: np.asarray(array) for name, array in arrays.items()}
        return write_whole(path, lambda file: np.savez(file, about=text, **arrays))

    @classmethod
    def load(cls, path: str | Path) -> Policy:
        """From a file, or one of those that are shipped by its name ("go1_sand", "go1_firm").

        FileFormatError if it is not one of ours, or of another version.
        """
        shipped = (SHIPPED / Path(path).name).with_suffix(".npz")
        path = shipped if not Path(path).exists() and str(path) == shipped.stem and shipped.exists() else path
        try:
            with np.load(path, allow_pickle=False) as file:
                arrays = dict(file)
            about = json.loads(arrays.pop("about").tobytes())
        except FileNotFoundError as error:
            names = ", ".join(sorted(file.stem for file in SHIPPED.glob("*.npz")))
            raise FileFormatError(f"there is no policy file {path}; these come with softground: {names}") from error
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
            raise FileFormatError(f"{path} is not a policy file of softground, or not whole") from error
        if about.get("format") != FORMAT:
            raise FileFormatError(
                f"{path} is a {about.get('format', 'file of another kind')}, and this version reads {FORMAT}: train "
                "it again, or use the version of softground that wrote it"
            )
        _check_arrays(path, arrays, about)
        layers = [(arrays[f"weights_{k}"], arrays[f"biases_{k}"]) for k in range((len(arrays) - 2) // 2)]
        try:
            return cls(arrays["mean"], arrays["deviation"], layers, about["activation"], about["bound"], about["card"])
        except OptionError as error:
            raise FileFormatError(f"{path} is not a sound policy file: {error}") from error

    def check_fits(self, env: Environment) -> None:
        """OptionError unless the policy was made for what this environment shows and takes."""
        task = self.card.get("task")
        if task != env.task.name:
            raise OptionError(f"this policy was trained for the task {task!r}, not for {env.task.name!r}")
        seen = list(env.task.observations)
        size = env.observation_size["state"][0]
        if self.card.get("observations", seen) != seen or len(self.mean) != size:
            raise OptionError(
                f"this policy sees {self.card.get('observations')} ({len(self.mean)} numbers), and the task "
                f"{task!r} now shows {seen} ({size}): train it again, or use the version of softground that wrote it"
            )
        if len(self.layers[-1][1]) != env.action_size:
            raise OptionError(f"this policy moves {len(self.layers[-1][1])} joints, {task} has {env.action_size}")


def _check_arrays(path: Any, arrays: Mapping[str, np.ndarray], about: Mapping[str, Any]) -> None:
    """FileFormatError for parts that are missing or that no network could have."""
    count = max(1, *(sum(name.startswith(kind) for name in arrays) for kind in ("weights_", "biases_")))
    axes = {"mean": 1, "deviation": 1}
    axes |= {f"{kind}_{k}": number for k in range(count) for kind, number in (("weights", 2), ("biases", 1))}
    missing = [name for name in axes if name not in arrays]
    missing += [name for name in ("activation", "bound", "card") if name not in about]
    strange = [name for name in arrays if name not in axes]
    if missing or strange:
        told = [f"{what}: {', '.join(names)}" for what, names in (("missing", missing), ("strange", strange)) if names]
        raise FileFormatError(f"{path} is not a whole policy file ({'; '.join(told)}): write it again")
    for name, array in arrays.items():
        if array.ndim != axes[name] or array.dtype.kind != "f" or not np.isfinite(array).all():
            raise FileFormatError(
                f"{path}: {name} must be finite numbers along {axes[name]} axes, got {array.dtype} of {array.shape}"
                f"{', not all finite' if array.dtype.kind == 'f' else ''}: the training failed, or the file was changed"
            )
    if not (arrays["deviation"] > 0).all() or len(arrays["deviation"]) != len(arrays["mean"]):
        raise FileFormatError(
            f"{path}: there must be a positive deviation for each of {len(arrays['mean'])} observations"
        )


class _Card(dict):
    """A card, which compares as it reads: it is part of the structure of a policy."""

    def __hash__(self) -> int:
        return hash(json.dumps(self, sort_keys=True))
