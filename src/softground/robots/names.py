"""Messages about names that were not found."""

import difflib
from collections.abc import Iterable


def close_matches(name: str, known: Iterable[str]) -> str:
    """'Did you mean ...?' with the nearest known names, or the whole list where none is near."""
    known = [k for k in dict.fromkeys(known) if k]
    near = difflib.get_close_matches(name, known, n=5, cutoff=0.5)
    near = near or [k for k in known if name.lower() in k.lower()][:5]
    if near:
        return f"Did you mean {', '.join(near)}?"
    return f"Known: {', '.join(known) or 'none'}"
