"""Write docs/api.md: every public name of softground with the first sentence of its docstring.

    python scripts/api_reference.py

Public is what a package lists in `__all__`; not the command line, the benchmarks, native code and studies of papers.
tests/test_public_names.py fails while the page is out of date.
"""

import ast
import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from types import ModuleType, UnionType

import softground

PAGE = Path(__file__).resolve().parents[1] / "docs" / "api.md"
INTERNAL = re.compile(r"softground\.(cli|bench|native|papers\.\w+)\b")
INTRODUCTION = """# Public names

What programs import, package by package; a name that `softground` itself has is listed there only. The rest of a
package is internal: it may move or change without notice. Docstrings have units, frames and examples:
`help(softground.walk)`. `scripts/api_reference.py` writes this page.
"""


def is_internal(package: str) -> bool:
    """Whether a package is not for programs to import from."""
    return bool(INTERNAL.match(package))


def public_names() -> dict[str, list[str]]:
    """Packages -> the names that they export, the front door first."""
    packages = [found.name for found in pkgutil.walk_packages(softground.__path__, "softground.") if found.ispkg]
    homes = ["softground", "softground.errors", *(name for name in packages if not is_internal(name))]
    modules = {name: importlib.import_module(name) for name in homes}
    return {name: list(module.__all__) for name, module in modules.items() if hasattr(module, "__all__")}


def reference() -> str:
    """The text of the page."""
    parts, listed = [INTRODUCTION], set()
    for home, names in public_names().items():
        package = importlib.import_module(home)
        rows = []
        for name in names:
            one = getattr(package, name)
            if (name, id(one)) not in listed:
                listed.add((name, id(one)))
                rows.append(f"| `{name}` | {summary(home, name, one)} |")
        title = "`import softground as sg`" if home == "softground" else f"`{home}`"
        if rows:
            parts.append(
                "\n".join(
                    [f"## {title}", "", first_sentence(package.__doc__), "", "| Name | |", "| --- | --- |", *rows, ""]
                )
            )
    return "\n".join(parts)


def summary(home: str, name: str, one: object) -> str:
    """One line on a public object. Constants are explained by the docstring or the comment at their definition."""
    if isinstance(one, ModuleType) or inspect.isclass(one) or inspect.isroutine(one):
        return first_sentence(one.__doc__)
    if isinstance(one, UnionType):
        return "One of " + ", ".join(f"`{each.__name__}`" for each in one.__args__) + "."
    return first_sentence(constant_doc(home, name))


def constant_doc(home: str, name: str) -> str:
    """The docstring below the definition of a constant, or the comment above it, wherever in the package that is."""
    for path in sorted(Path(str(importlib.import_module(home).__file__)).parent.rglob("*.py")):
        source = path.read_text()
        body = ast.parse(source).body
        for node, after in zip(body, [*body[1:], None], strict=True):
            targets = [node.target] if isinstance(node, ast.AnnAssign) else getattr(node, "targets", [])
            if [ast.unparse(target) for target in targets] != [name]:
                continue
            if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant):
                return str(after.value.value)
            above = source.splitlines()[node.lineno - 2]
            return above.removeprefix("#: ") if above.startswith("#: ") else ""
    return ""


def first_sentence(doc: str | None) -> str:
    """Up to the first full stop, on one line, safe in a table."""
    text = " ".join(inspect.cleandoc(doc or "").split("\n\n")[0].split())
    return re.split(r"(?<!al[.])(?<!eq[.])(?<=[.])\s", text)[0].replace("|", "\\|")


if __name__ == "__main__":
    PAGE.write_text(reference())
    print(f"wrote {PAGE}")
