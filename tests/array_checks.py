"""Array annotations are checked while the tests run: every `Float[Array, "n 3"]` of softground means what it says.

An import hook puts jaxtyping's check on the functions and dataclasses that have such annotations. jaxtyping's own
hook (`--jaxtyping-packages`) puts it on all of them, and beartype on all their hints, which takes 5 s more in every
process and stumbles over hints that only a static checker can read (protocols, `ArrayLike`); pyright reads those.
"""

import ast
import inspect
import sys
from functools import wraps
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder, SourceFileLoader
from typing import get_args

import numpy as np
from beartype import beartype
from jaxtyping import AbstractArray, jaxtyped

DECORATOR = "_check_arrays"


def install() -> None:
    """Check the modules of softground that are imported from now on."""
    sys.meta_path.insert(0, _Finder())
    from softground import arrays

    # A sum of a NumPy array is a scalar of NumPy's own, an array without axes in all but its class.
    arrays.Array |= np.generic


def check_arrays(thing):
    """A function that checks its arguments and result, or a dataclass that checks its fields when it is made."""
    return jaxtyped(thing, typechecker=_beartype_of_arrays)


def _beartype_of_arrays(function):
    """beartype of the array annotations alone, made when first called: most functions are not, in one process."""
    function.__annotations__ = {name: hint for name, hint in function.__annotations__.items() if _is_of_arrays(hint)}
    checked = None

    @wraps(function)
    def check(*args, **kwargs):
        nonlocal checked
        checked = checked or beartype(function)
        return checked(*args, **kwargs)

    return check


def _is_of_arrays(hint) -> bool:
    return (inspect.isclass(hint) and issubclass(hint, AbstractArray)) or any(map(_is_of_arrays, get_args(hint)))


class _Decorate(ast.NodeTransformer):
    """Put the check innermost on functions, so that `jit` and its kind wrap it, and outermost on dataclasses."""

    arrays = frozenset({"Float", "Int", "UInt", "Bool"})

    def visit_Module(self, node: ast.Module) -> ast.Module:
        aliases = [part for part in node.body if isinstance(part, ast.Assign) and self.names_arrays(part.value)]
        self.arrays |= {target.id for part in aliases for target in part.targets if isinstance(target, ast.Name)}
        self.generic_visit(node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        hints = [part.annotation for part in ast.walk(node.args) if isinstance(part, ast.arg)]
        if any(map(self.names_arrays, [*hints, node.returns])):
            node.decorator_list.append(ast.Name(DECORATOR, ast.Load()))
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        self.generic_visit(node)
        if any(self.names_arrays(part.annotation) for part in node.body if isinstance(part, ast.AnnAssign)):
            node.decorator_list.insert(0, ast.Name(DECORATOR, ast.Load()))
        return node

    def names_arrays(self, hint: ast.expr | None) -> bool:
        parts = ast.walk(hint) if hint else ()
        return any(isinstance(part, ast.Name) and part.id in self.arrays for part in parts)


class _Loader(SourceFileLoader):
    def exec_module(self, module) -> None:
        setattr(module, DECORATOR, check_arrays)
        super().exec_module(module)

    def get_code(self, fullname: str):
        """Compiled anew where there are annotations, so that the kept bytecode stays that of the plain module."""
        path = self.get_filename(fullname)
        source = self.get_data(path)
        if b"jaxtyping" not in source:
            return super().get_code(fullname)
        tree = ast.fix_missing_locations(_Decorate().visit(ast.parse(source, path)))
        return compile(tree, path, "exec", dont_inherit=True)


class _Finder(MetaPathFinder):
    def find_spec(self, fullname, path, target=None):
        if fullname.partition(".")[0] != "softground":
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec
