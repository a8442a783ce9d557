"""Checkpoints of a training: nested dictionaries and lists of tensors and numbers, in a file of NumPy's, no pickle."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from softground.errors import FileFormatError
from softground.whole_file import write_whole

FORMAT = "softground checkpoint 1"


def save_checkpoint(path: Path, content: dict[str, Any]) -> Path:
    """Write a checkpoint, whole."""
    arrays: dict[str, Any] = {}
    text = json.dumps({"format": FORMAT, "content": _taken_apart(content, arrays)})
    about = np.frombuffer(text.encode(), np.uint8)
    return write_whole(path, lambda file: np.savez(file, about=about, **arrays))


def load_checkpoint(path: Path) -> dict[str, Any]:
    """What was written; FileFormatError if it is no checkpoint of this version, or not there."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = dict(file)
        about = json.loads(arrays.pop("about").tobytes())
    except FileNotFoundError as error:
        raise FileFormatError(f"there is no checkpoint {path}: begin without --resume") from error
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise FileFormatError(f"{path} is not a checkpoint of softground, or not whole") from error
    if about.get("format") != FORMAT:
        raise FileFormatError(f"{path} is a {about.get('format')}, and this version reads {FORMAT}: begin anew")
    return _put_together(about["content"], arrays)


def _taken_apart(part: Any, arrays: dict[str, np.ndarray]) -> Any:
    """A part as JSON, with tensors moved to `arrays`; dictionaries as pairs, because their keys may be numbers."""
    if isinstance(part, torch.Tensor):
        arrays[f"tensor_{len(arrays)}"] = part.detach().cpu().numpy()
        return {"tensor": f"tensor_{len(arrays) - 1}"}
    if isinstance(part, dict):
        return {"pairs": [[key, _taken_apart(value, arrays)] for key, value in part.items()]}
    if isinstance(part, list | tuple):
        return {"list": [_taken_apart(value, arrays) for value in part]}
    return {"value": part}


def _put_together(part: dict[str, Any], arrays: dict[str, np.ndarray]) -> Any:
    ((kind, value),) = part.items()
    if kind == "tensor":
        return torch.from_numpy(arrays[value])
    if kind == "pairs":
        return {key: _put_together(one, arrays) for key, one in value}
    if kind == "list":
        return [_put_together(one, arrays) for one in value]
    return value
