"""The layers of the package: a module may import from the layers below its own, never beside or above."""

import ast
from pathlib import Path

import pytest

import softground

PACKAGE = Path(softground.__file__).parent
#: From the ground up. Those on one line do not know each other.
LAYERS = [
    {"errors", "tables", "cache", "lazy", "closed_mesh"},
    {"arrays", "whole_file"},
    {"native"},
    {"robots", "surfaces"},
    {"media"},
    {"terrain"},
    {"contact"},
    {"simulation"},
    {"runs"},
    {"experiments"},
    {"validation"},
    {"control"},
    {"planning"},
    {"files", "envs"},
    {"bridges"},
    {"bench", "papers", "demo"},
    {"cli"},
    {"__main__"},
]
#: Methods that hand what they belong to to a layer above: `Simulator.run`, `Run.video`, `Run.view` and `Plan.view`.
UPWARD = {("simulation", "runs"), ("runs", "bridges"), ("planning", "bridges")}
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def imported_parts(path: Path) -> set[str]:
    """Parts of softground that a file imports, anywhere in it (also inside functions)."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports must be absolute"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.split(".")[1] for name in found if name.startswith("softground.")}


def part_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


@pytest.mark.parametrize("part", sorted({part_of(path) for path in PACKAGE.rglob("*.py")} - {"__init__"}))
def test_imports_go_down_only(part):
    assert part in LEVEL, f"{part} is new: give it a place in LAYERS"
    for path in PACKAGE.rglob("*.py"):
        if part_of(path) == part:
            others = {other for other in imported_parts(path) - {part} if (part, other) not in UPWARD}
            wrong = {other for other in others if LEVEL[other] >= LEVEL[part]}
            assert not wrong, f"{path.relative_to(PACKAGE)} imports {sorted(wrong)}, not below {part}"


def test_nothing_is_pickled():
    """Files from elsewhere, and those of a cache, are data: no module of ours imports what makes objects of them."""
    makers = {"pickle", "cloudpickle", "dill", "marshal", "shelve", "joblib", "serialize_executable"}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {part for alias in node.names for part in alias.name.split(".")}
                names |= set((getattr(node, "module", None) or "").split("."))
                assert not names & makers, f"{path} imports {', '.join(names & makers)}"
