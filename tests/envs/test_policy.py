"""Policies: files that need no trainer, the same actions in an environment and in a simulator."""

import json
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground.envs import Policy, controller_of, evaluate, make
from softground.errors import FileFormatError, OptionError

from .env_cases import STILL_FOOT

ENV = make(STILL_FOOT, "sand", {"strength": (2.0, 2.0)}, backend="xla")
SEEN, MOVED = ENV.observation_size["state"][0], ENV.action_size


def policy(**card):
    """A network with random weights."""
    random = np.random.default_rng(0)
    sizes = [SEEN, 8, MOVED]
    layers = [(0.3 * random.normal(size=(b, a)), random.normal(size=b)) for a, b in pairwise(sizes)]
    about = {"task": "foot", "observations": list(STILL_FOOT.observations)} | card
    return Policy(random.normal(size=SEEN), np.full(SEEN, 2.0), layers, "elu", card=about)


def test_a_file_gives_back_what_was_saved(tmp_path):
    made = policy(seed=3)
    again = Policy.load(made.save(tmp_path / "deep" / "policy"))
    seen = np.random.default_rng(1).normal(size=(5, SEEN))
    np.testing.assert_array_equal(made(seen), again(seen))
    assert dict(again.card) == dict(made.card)
    assert again.card["seed"] == 3


def test_other_files_are_refused(tmp_path):
    made, other = policy().save(tmp_path / "policy.npz"), tmp_path / "other.npz"
    arrays = dict(np.load(made))
    about = json.loads(arrays["about"].tobytes()) | {"format": "softground policy 0"}
    np.savez(other, **(arrays | {"about": np.frombuffer(json.dumps(about).encode(), np.uint8)}))
    with pytest.raises(FileFormatError, match=r"policy 0.*reads softground policy 1: train it again, or use"):
        Policy.load(other)
    other.write_bytes(made.read_bytes()[:200])
    with pytest.raises(FileFormatError, match="not a policy file"):
        Policy.load(other)
    other.write_bytes(b"CDF\x01, a run perhaps")
    with pytest.raises(FileFormatError, match=r"not a policy file of softground, or not whole$"):  # not NumPy's advice
        Policy.load(other)
    with pytest.raises(FileFormatError, match=r"there is no policy file.*come with softground: go1_firm, go1_sand"):
        Policy.load(tmp_path / "none.npz")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weights_1": None}, r"not a whole policy file \(missing: weights_1\): write it again"),
        ({"mean": None, "weights_9": np.zeros((1, 1))}, "missing: mean, weights_2"),
        ({"smell": np.zeros(3)}, "strange: smell"),
        ({"weights_0": np.full((8, SEEN), np.nan)}, "weights_0 must be finite numbers along 2 axes.*not all finite"),
        ({"biases_1": np.zeros((MOVED, 1))}, "biases_1 must be finite numbers along 1 axes"),
        ({"deviation": np.zeros(SEEN)}, "positive deviation for each of"),
        ({"weights_1": np.zeros((MOVED, 5))}, "layer 1 of a policy must take 8 numbers"),
    ],
)
def test_files_with_parts_missing_or_broken_are_refused(changes, message, tmp_path):
    path = policy().save(tmp_path / "policy.npz")
    arrays = {name: array for name, array in (dict(np.load(path)) | changes).items() if array is not None}
    np.savez(path, **arrays)
    with pytest.raises(FileFormatError, match=message):
        Policy.load(path)


@pytest.mark.parametrize(
    ("card", "message"),
    [({"task": "go1"}, "trained for the task 'go1'"), ({"observations": ["smell"]}, "now shows")],
)
def test_a_policy_of_another_task_is_refused(card, message):
    with pytest.raises(OptionError, match=message):
        evaluate(policy(**card), ENV, 1)


def test_a_policy_drives_a_simulator_as_it_drives_the_environment():
    made = policy()
    state = jax.jit(ENV.reset)(jax.random.key(0))
    controller = controller_of(made, ENV, np.asarray(state.info["command"]))
    start = state.data
    step = jax.jit(ENV.step)
    for _ in range(6):
        state = step(state, made(state.obs["state"]))
    run = ENV.on({"strength": np.asarray(2.0)}).run(controller, 6 * ENV.dt, state=start, period=ENV.dt)
    np.testing.assert_allclose(run.state("final").q, state.data.q, atol=1e-9)


def test_episodes_are_counted_and_repeat():
    made = policy()
    first, again = (evaluate(made, ENV, 6, seed=1, seconds=0.1) for _ in range(2))
    np.testing.assert_array_equal(first.reward, again.reward)
    found = first.summary()
    assert found["episodes"] == 6
    assert 0 < found["seconds"] <= 0.1 + 1e-9
    assert found["error"] is None  # shorter than the time to follow a command
    assert found["survived"] == pytest.approx(first.survived.mean())
    np.testing.assert_allclose(first.ground["strength"], 2.0)
    with pytest.raises(OptionError, match="to choose it, let it vary"):
        evaluate(made, ENV, 1, ground={"friction": 1.0})


def test_layers_that_do_not_fit_are_refused():
    with pytest.raises(OptionError, match="layer 1 of a policy must take 4 numbers"):
        Policy(jnp.zeros(2), jnp.ones(2), [(jnp.zeros((4, 2)), jnp.zeros(4)), (jnp.zeros((3, 5)), jnp.zeros(3))])


@pytest.mark.parametrize("name", ["go1_sand", "go1_firm"])
def test_shipped_policies_fit_their_task(name):
    policy = Policy.load(name)
    policy.check_fits(make("go1"))
    assert policy.card["trainer"].startswith("rsl-rl-lib")
