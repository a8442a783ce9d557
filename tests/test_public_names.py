"""The public names: every one is there once, explains itself with units, and is what examples and documents use.

A name is public when `softground` or one of its packages lists it in `__all__`. Not public are the command line, the
benchmarks and the folders of papers, of which documents may import the modules in `DOCUMENTED`.
"""

import ast
import doctest
import functools
import importlib
import inspect
import pkgutil
import re
import runpy
import textwrap
from pathlib import Path
from types import ModuleType

import pytest

import softground as sg

REPOSITORY = Path(__file__).parents[1]
#: Modules that their pages document, beside the packages.
DOCUMENTED = {
    "softground.papers.chen2026.experiment",
    "softground.papers.chen2026.models",
    "softground.papers.chen2026.stance",
}
#: Packages that are written before their names, `sg.mujoco.Ground`: those may mean something else elsewhere.
NAMESPACES = {"softground.bridges.mjx", "softground.bridges.mujoco", "softground.envs"}
api_reference = runpy.run_path(str(REPOSITORY / "scripts" / "api_reference.py"))
PUBLIC: dict[str, list[str]] = api_reference["public_names"]()
FRONT_DOOR = [name for name in sg.__all__ if not isinstance(getattr(sg, name), ModuleType)]


def named() -> dict[str, object]:
    """What has a name of its own: classes and functions, by package and name."""
    found = {
        f"{home}.{name}": getattr(importlib.import_module(home), name) for home, of in PUBLIC.items() for name in of
    }
    return {name: one for name, one in found.items() if inspect.isclass(one) or inspect.isfunction(one)}


def test_every_name_is_there_and_explains_itself():
    for home, names in PUBLIC.items():
        package = importlib.import_module(home)
        assert package.__doc__, f"{home} has no docstring"
        assert len(set(names)) == len(names), f"{home} lists a name twice"
        assert set(names) <= set(dir(package)), f"dir({home}) lacks names"
        assert all(hasattr(package, name) for name in names)
    for name, one in named().items():
        own = vars(one).get("__doc__") if inspect.isclass(one) else one.__doc__
        assert own, f"{name} has no docstring"
        assert not own.startswith(f"{one.__name__}("), f"{name} has only the docstring that dataclasses make"


def test_a_name_means_one_thing():
    """One object may be at the front door and in its package; two of one name would be taken for each other."""
    meanings: dict[str, dict[int, str]] = {}
    for home, names in PUBLIC.items():
        for name in names if home not in NAMESPACES else ():
            one = getattr(importlib.import_module(home), name)
            meanings.setdefault(name, {})[id(one)] = home
    twice = {name: sorted(homes.values()) for name, homes in meanings.items() if len(homes) > 1}
    assert not twice, f"leave all but one of these out of __all__: {twice}"


# -- units --------------------------------------------------------------------------------------------------------

UNIT = re.compile(
    r"(?<!['\w.])(m|mm|m2|s|ms|kg|N|Pa|W|J|Hz|rad|deg|degrees|m/s|rad/s|m/s2|rad/s2|1/s|1/s2|1/s3|kg/m3|N/m|N/cm3|N/m3)(?!\w)"
    r"|\bSI\b"
)
WITHOUT = re.compile(
    r"\b(shares?|factors?|ratio|times|weights?|dimensionless|units?|logarithms?|relative|seconds|friction|rotation|pixels)\b",
    re.IGNORECASE,
)
"""Words that say that there is no unit, or which."""
GENERALISED = {"q", "v", "v_after", "posture", "lock"}
"""Generalised positions and velocities, whose units are those of the joints (docs/conventions.md)."""
ROWS = {"TaskRows", "Bounds", "Problem"}
"""Rows of a quadratic program, in whatever units their task or constraint has."""


def says_unit(*texts: str | None) -> bool:
    return any(UNIT.search(text) or WITHOUT.search(text) for text in texts if text)


def is_quantity(name: str, annotation: ast.expr | None) -> bool:
    """Whether this is a real number or an array of them, by its annotation."""
    kind = "" if annotation is None else ast.unparse(annotation)
    return name not in GENERALISED and bool(re.search(r"\bfloat\b|\bFloat\[", kind)) and "Callable" not in kind


def quantities_without_unit(one) -> list[str]:
    """Fields of a class without a unit; parameters of a function, or of a constructor, that names no unit.

    A field says its unit in its name, in a comment beside it or in a docstring below it; or the docstring of the class
    gives units. A function says units in its docstring, a constructor there or where its parameters are fields.
    """
    source = textwrap.dedent(inspect.getsource(one))
    tree, lines = ast.parse(source).body[0], source.splitlines()
    doc = ast.get_docstring(tree) or ""
    if isinstance(tree, ast.FunctionDef):
        return [] if says_unit(doc) else parameters(tree)
    if UNIT.search(doc) or one.__name__ in ROWS:
        return []
    fields, missing = set(), []
    for node, after in zip(tree.body, [*tree.body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and is_quantity(name := ast.unparse(node.target), node.annotation):
            below = (
                str(after.value.value) if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            )
            beside = " ".join(line.partition("#")[2] for line in lines[node.lineno - 1 : node.end_lineno])
            fields.add(name)
            missing += [] if says_unit(name.replace("_", " "), below, beside) else [name]
        if isinstance(node, ast.FunctionDef) and node.name == "__init__" and not says_unit(ast.get_docstring(node)):
            missing += [name for name in parameters(node) if name not in fields]
    return missing


def parameters(function: ast.FunctionDef) -> list[str]:
    """Those that are real numbers."""
    given = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return [one.arg for one in given if is_quantity(one.arg, one.annotation)]


def test_quantities_say_their_units():
    missing = {name: found for name, one in named().items() if (found := quantities_without_unit(one))}
    assert not missing, f"these take or hold numbers without saying their units: {missing}"


# -- examples and documents ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FRONT_DOOR)
def test_the_example_in_the_docstring_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = inspect.cleandoc(getattr(sg, name).__doc__)
    example = doctest.DocTestParser().get_doctest(text, {}, f"softground.{name}", None, 0)
    assert example.examples, f"sg.{name} has no example: give its docstring a few lines that begin with >>>"
    said: list[str] = []
    doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=said.append)
    assert not said, "".join(said)


@functools.cache
def programs() -> dict[str, list[str]]:
    """The examples, and the Python in the documents, by file."""
    documents = [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]
    blocks = {path.name: re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL) for path in documents}
    return blocks | {path.name: [path.read_text()] for path in sorted((REPOSITORY / "examples").glob("*.py"))}


def imported(program: str) -> list[tuple[str, str]]:
    """Modules of ours and the names that a program takes from them; of a plain import the name is empty."""
    found = []
    for node in ast.walk(ast.parse(program)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "softground":
            found += [(str(node.module), alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names if alias.name.split(".")[0] == "softground"]
    return found


@pytest.mark.parametrize("file", sorted(programs()))
def test_examples_and_documents_use_public_names(file):
    for program in programs()[file]:
        for module, name in imported(program):
            assert module in PUBLIC or module in DOCUMENTED, f"{file} imports from {module}, which is not public"
            assert not name.startswith("_"), f"{file} imports the private name {name}"
            assert module in DOCUMENTED or not name or name in PUBLIC[module], f"{module} does not export {name}"


def test_the_reference_lists_every_public_name():
    written = (REPOSITORY / "docs" / "api.md").read_text()
    missing = [f"{home}.{name}" for home, names in PUBLIC.items() for name in names if f"`{name}`" not in written]
    assert written == api_reference["reference"](), (
        f"docs/api.md is not up to date{', it lacks ' + ', '.join(missing) if missing else ''}: "
        "run python scripts/api_reference.py"
    )


def test_every_name_has_a_summary():
    for home, names in PUBLIC.items():
        for name in names:
            one = getattr(importlib.import_module(home), name)
            assert api_reference["summary"](home, name, one), f"say below {home}.{name} what it is"


def test_every_package_is_public_or_known_not_to_be():
    """A new package is listed in the reference by itself: it needs `__all__`."""
    for found in pkgutil.walk_packages(sg.__path__, "softground."):
        if found.ispkg and not api_reference["is_internal"](found.name):
            assert found.name in PUBLIC, f"{found.name} has no __all__"
