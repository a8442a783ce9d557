# MuJoCo's names come from compiled modules without stubs, so pyright knows none of them. One open stub is
# more precise than switching reportAttributeAccessIssue off, which would also hide misspelt names of ours.
from typing import Any

def __getattr__(name: str) -> Any: ...
