"""From text of LLVM to machine code of this processor, kept on disk, and into this process.

llvmlite brings LLVM along, so no compiler is needed on a user's machine.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

from softground.errors import OptionError
from softground.native.errors import NotNative
from softground.native.kept import digest_of, kept


def optimisation_level() -> int:
    """LLVM's level of optimisation: SOFTGROUND_LLVM_LEVEL, 0 to 3, or else 2.

    At level 0 LLVM takes a ninth of the time (0.9 s in place of 8.3 s for a step of G1), for code that is slower.
    """
    given = os.environ.get("SOFTGROUND_LLVM_LEVEL", "2")
    if given not in {"0", "1", "2", "3"}:
        raise OptionError(f"SOFTGROUND_LLVM_LEVEL must be 0, 1, 2 or 3, got {given!r}")
    return int(given)


def machine_code(key: str, write: Callable[[], str] | None = None) -> tuple[str, bytes]:
    """A digest of the program, and its object code: from disk, or compiled and kept there.

    key: what the program is known by; its text, unless `write` makes that, which is asked only if it must be compiled.
    """
    machine = _machine(optimisation_level())
    digest = digest_of(machine.identity, key)
    return digest, kept(f"{digest}.o", lambda: machine.compile(key if write is None else write()))


def kept_code(digest: str) -> bytes:
    """Object code that was made before; NotNative if it is not there any more."""

    def gone() -> bytes:
        raise NotNative(f"machine code {digest} is not kept any more")

    return kept(f"{digest}.o", gone)


def passing_code(text: str) -> bytes:
    """Object code that is not kept: what holds addresses of this process is of no use to another."""
    return _machine(optimisation_level()).compile(text)


def address(name: str, code: bytes, symbol: str) -> int:
    """Load object code for as long as this process lives, and return where `symbol` stands in it."""
    machine = _machine(optimisation_level())
    builder = machine.binding.JITLibraryBuilder().add_object_img(code).add_current_process().export_symbol(symbol)
    library = builder.link(machine.linker, name)
    _LOADED.append(library)
    return library[symbol]


_LOADED: list[Any] = []  # XLA keeps addresses, and has no way to give them back


@dataclass(frozen=True)
class _Machine:
    """This processor, to LLVM."""

    binding: ModuleType
    target: Any
    linker: Any
    level: int  # of optimisation
    identity: str  # code for one machine runs on another only if this is the same

    def compile(self, text: str) -> bytes:
        module = self.binding.parse_assembly(text)
        module.triple = self.target.triple
        module.data_layout = str(self.target.target_data)
        options = self.binding.create_pipeline_tuning_options(speed_level=self.level)
        # The search for vectors in straight code took three quarters of the time to compile a program of 12,000
        # statements, and gained 6 %.
        options.slp_vectorization = False
        builder = self.binding.create_pass_builder(self.target, options)
        builder.getModulePassManager().run(module, builder)
        return self.target.emit_object(module)


@cache
def _machine(level: int) -> _Machine:
    try:
        import llvmlite
        import llvmlite.binding as binding
    except ImportError as error:
        raise NotNative(f"native code needs llvmlite ({error}): pip install llvmlite") from error
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    name, features = binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten()
    target = binding.Target.from_default_triple().create_target_machine(
        cpu=name, features=features, opt=level, reloc="pic", codemodel="small"
    )
    # JITLink puts code and constants of a program side by side. The older linker takes memory for each wherever there
    # is some, and aborts the process where they end up further apart than an instruction can reach.
    linker = binding.create_lljit_compiler(
        binding.Target.from_default_triple().create_target_machine(cpu=name, features=features, jit=True),
        use_jit_link=True,
    )
    _LOADED.append(linker)
    versions = (llvmlite.__version__, str(binding.llvm_version_info), str(level))
    return _Machine(binding, target, linker, level, "\n".join([*versions, target.triple, name, features]))
