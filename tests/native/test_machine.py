"""Machine code on disk, and machines on which there is none."""

import re
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from softground.errors import OptionError
from softground.native import ffi, machine
from softground.native.calling import native
from softground.native.errors import NotNative
from softground.native.program import Buffer

from .building import number, program


@pytest.fixture
def compilations(monkeypatch, tmp_path):
    """Texts that were compiled, with nothing on disk at first and nothing remembered in this process."""
    texts = []
    compile_text = machine._Machine.compile
    monkeypatch.setenv("SOFTGROUND_CACHE", str(tmp_path))
    monkeypatch.setattr(machine._Machine, "compile", lambda self, text: texts.append(text) or compile_text(self, text))
    return texts


def doubled(by: float = 2.0):
    return program(64, [Buffer("float", 1)], lambda b, x: [b.op("mul", x, number(by))])


def test_the_second_time_nothing_is_compiled(compilations, tmp_path):
    for _ in range(2):
        assert native(doubled())(np.array([3.0]))[0][0] == 6
    assert len(compilations) == 1
    assert native(doubled(3.0))(np.array([3.0]))[0][0] == 9
    assert len(compilations) == 2
    assert len(list(tmp_path.rglob("*.o"))) == 2


@pytest.mark.parametrize(
    "damage", [lambda code: b"", lambda code: code[:-100], lambda code: code[:99] + bytes([code[99] ^ 1]) + code[100:]]
)
def test_a_damaged_file_is_made_again(compilations, tmp_path, damage):
    first = machine.machine_code(TEXT)
    (file,) = tmp_path.rglob("*.o")
    whole = file.read_bytes()
    file.write_bytes(damage(whole))
    assert machine.machine_code(TEXT) == first
    assert file.read_bytes() == whole
    assert len(compilations) == 2


def test_code_depends_on_the_processor(compilations, monkeypatch):
    """A home folder may be shared by several."""
    here, _ = machine.machine_code(TEXT)
    there = machine._Machine(**{**vars(machine._machine(2)), "identity": "another"})
    monkeypatch.setattr(machine, "_machine", lambda level: there)
    assert machine.machine_code(TEXT)[0] != here


def test_code_depends_on_the_level_of_optimisation(compilations, monkeypatch):
    made = []
    for level in ("0", "2"):
        monkeypatch.setenv("SOFTGROUND_LLVM_LEVEL", level)
        made.append(machine.machine_code(TEXT))
    (quick, plain), (optimised, short) = made
    assert quick != optimised
    assert len(short) < len(plain)
    monkeypatch.setenv("SOFTGROUND_LLVM_LEVEL", "fast")
    with pytest.raises(OptionError, match="must be 0, 1, 2 or 3, got 'fast'"):
        machine.machine_code(TEXT)


def test_a_folder_that_cannot_be_written_costs_only_time(compilations, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SOFTGROUND_CACHE", str(tmp_path / "file"))
    for _ in range(2):
        assert machine.machine_code(TEXT)[1]
    assert len(compilations) == 2


def test_without_llvmlite(monkeypatch):
    monkeypatch.setitem(sys.modules, "llvmlite", None)
    machine._machine.cache_clear()
    with pytest.raises(NotNative, match="llvmlite"):
        native(doubled(4.0))(jnp.zeros(1))
    machine._machine.cache_clear()


HEADER = Path(jax.ffi.include_dir(), "xla", "ffi", "api", "c_api.h")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (r"API_MAJOR \d+", "API_MAJOR 9", r"9\."),
        (r"API_MINOR", "API_LITTLE", r"-1"),
        (r"void\* data;", "void* origin; void* data;", "Buffer.* differ"),
        (r"_XLA_FFI_API_STRUCT_FIELD\(XLA_FFI_Stream_Get\);", "", "Api differ"),
    ],
)
def test_an_unknown_interface_of_xla(old, new, reason):
    with pytest.raises(NotNative, match=reason):
        ffi.version_of(re.sub(old, new, HEADER.read_text()))


def test_a_newer_interface_that_only_grew():
    header = re.sub(r"API_MINOR \d+", "API_MINOR 7", HEADER.read_text())
    header = header.replace("XLA_FFI_TypeId state_type_id;", "XLA_FFI_TypeId state_type_id; int more;")
    assert ffi.version_of(header) == (0, 7)
    assert ffi.interface_version()[0] == 0


TEXT = """define i32 @answer() {
  ret i32 42
}
"""
