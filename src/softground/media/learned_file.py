"""Learned media on disk: JSON, written whole, checked when loaded; numbers only, no code.

save_medium("sand.json", medium, {"provenance": "..."})
medium = load_medium("sand.json", strength=2.0)

A file may hold, beside the medium, by what it may be wrong: `load_ensemble` reads both.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from softground.errors import FileFormatError, MediumError
from softground.media.ensemble import Ensemble
from softground.media.learned import Joined, Kernels, LearnedSpace, Polynomials
from softground.media.resistive.medium import BallDepth, Sinking
from softground.robots.shapes import shape_from_dict
from softground.whole_file import write_whole

FORMAT, VERSION = "softground-medium", 1
PATTERN_DIGITS = 4
#: Features that a file may hold, beside kernels: the fields that rebuild them.
PLAIN_FEATURES = {
    "sinking": (Sinking, ("powers", "harmonics", "spatial", "max_tilt", "ramp", "onset")),
    "polynomials": (Polynomials, ("depths", "leans", "spatial", "max_depth", "max_tilt", "onset")),
    "ball_depth": (BallDepth, ("radius", "powers", "ramp")),
}
KERNEL_FIELDS = ("kernel", "degree", "max_depth", "max_tilt", "onset", "offset")


def save_medium(path: str | Path, medium: LearnedSpace | Ensemble, notes: Mapping[str, Any] | None = None) -> Path:
    """Write a learned medium whole; an ensemble with its patterns.

    notes: JSON values kept in the file beside it (name, provenance, errors), for people.

    >>> import softground as sg
    >>> sg.save_medium("stronger_beads.json", sg.beads(strength=2), {"provenance": "beads, twice as strong"}).name
    'stronger_beads.json'
    """
    learned = medium.medium if isinstance(medium, Ensemble) else medium
    document = _document(learned, notes or {})
    if isinstance(medium, Ensemble):
        document["ensemble"] = {
            "offset_m": medium.offset,
            "patterns": rounded(medium.patterns, PATTERN_DIGITS).tolist(),
        }
    parts = [f"{json.dumps(name)}: {json.dumps(part, allow_nan=False)}" for name, part in document.items()]
    return write_whole(path, lambda file: file.write_text("{\n" + ",\n".join(parts) + "\n}\n"))


def rounded(values: Any, digits: int) -> np.ndarray:
    """An array of numbers of so many digits."""
    array = np.asarray(values, dtype=float)
    return np.array([float(f"{value:.{digits}g}") for value in array.ravel()]).reshape(array.shape)


def load_medium(path: str | Path, **options: float) -> LearnedSpace:
    """Read a learned medium; FileFormatError says what is wrong with a file that cannot be.

    options: `strength` (a factor) and `eps` (W) replace those of the file.

    >>> import softground as sg
    >>> path = sg.save_medium("ground.json", sg.beads())
    >>> float(sg.load_medium(path, strength=2).strength)
    2.0
    """
    path = Path(path)
    document = _read(path)
    unknown = set(options) - {"strength", "eps"}
    if unknown:
        raise MediumError(f"a learned medium has no {', '.join(sorted(unknown))}: its options are strength, eps")
    try:
        space = document["space"]
        return LearnedSpace(
            np.asarray(space["coefficients"], dtype=float),
            _features(document["features"]),
            shape_from_dict(document["foot"]),
            kind=space["kind"],
            **{name: float(space[name]) for name in ("max_depth", "max_tilt", "reference_height")},
            **{name: float({**space, **options}[name]) for name in ("eps", "strength")},
        )
    except (KeyError, TypeError, ValueError) as error:
        what = f"lacks {error}" if isinstance(error, KeyError) else str(error)
        raise FileFormatError(f"{path} is damaged ({what}): copy it again or learn the medium again") from error


def load_ensemble(path: str | Path, **options: float) -> Ensemble:
    """Read a learned medium with the patterns by which it may be wrong; options as of `load_medium`.

    >>> import softground as sg
    >>> from softground.media import load_ensemble
    >>> path = sg.save_medium("ground.json", sg.beads())
    >>> load_ensemble(path)
    Traceback (most recent call last):
    softground.errors.FileFormatError: ground.json holds no ensemble: learn the medium again with this softground
    """
    path = Path(path)
    medium, kept = load_medium(path, **options), _read(path).get("ensemble")
    if kept is None:
        raise FileFormatError(f"{path} holds no ensemble: learn the medium again with this softground")
    try:
        return Ensemble(medium, np.asarray(kept["patterns"], dtype=float), float(kept["offset_m"]))
    except (KeyError, TypeError, ValueError, MediumError) as error:
        what = f"lacks {error}" if isinstance(error, KeyError) else str(error)
        raise FileFormatError(f"the ensemble in {path} is damaged ({what}): learn the medium again") from error


def _read(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise FileFormatError(f"no learned medium at {path}: make one with `softground learn DB.csv --out {path.name}`")
    try:
        document = json.loads(path.read_text())
    except (ValueError, OSError) as error:
        raise FileFormatError(
            f"{path} is truncated or not JSON ({error}): copy it again or learn the medium again"
        ) from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FileFormatError(f"{path} is JSON but not a learned medium: its `format` must be {FORMAT!r}")
    if document.get("version") != VERSION:
        raise FileFormatError(
            f"{path} has version {document.get('version')}, this softground reads {VERSION}: "
            "learn the medium again, or use the softground that wrote it"
        )
    return document


def _document(medium: LearnedSpace, notes: Mapping[str, Any]) -> dict[str, Any]:
    space = {
        "kind": medium.kind,
        "reference_height": medium.reference_height,
        **{name: float(getattr(medium, name)) for name in ("eps", "strength", "max_depth", "max_tilt")},
        "coefficients": np.asarray(medium.coefficients).tolist(),
    }
    return {
        "format": FORMAT,
        "version": VERSION,
        "notes": dict(notes),
        "foot": medium.foot.to_dict(),
        "space": space,
        "features": _feature_documents(medium.features),
    }


def _feature_documents(features: Any) -> list[dict[str, Any]]:
    parts = features.parts if isinstance(features, Joined) else (features,)
    return [_feature_document(part) for part in parts]


def _feature_document(part: Any) -> dict[str, Any]:
    if isinstance(part, Kernels):
        numbers = {"centres": np.asarray(part.centres).tolist(), "weights": np.asarray(part.weights).tolist()}
        return {"type": "kernels", **numbers, **{name: getattr(part, name) for name in KERNEL_FIELDS}}
    for name, (cls, fields) in PLAIN_FEATURES.items():
        if type(part) is cls:
            return {"type": name, **{field: _number(getattr(part, field)) for field in fields}}
    raise MediumError(f"features of type {type(part).__name__} have no place in a file of a learned medium")


def _number(value: Any) -> Any:
    """An array without axes as a plain number."""
    return value.item() if isinstance(value, np.ndarray | jax.Array) else value


def _features(documents: list[dict[str, Any]]) -> Joined:
    return Joined(tuple(_feature(dict(document)) for document in documents))


def _feature(document: dict[str, Any]) -> Any:
    kind = document.pop("type")
    if kind == "kernels":
        return Kernels(document.pop("centres"), document.pop("weights"), **document)
    if kind not in PLAIN_FEATURES:
        raise ValueError(f"unknown features {kind!r}")
    return PLAIN_FEATURES[kind][0](**document)
