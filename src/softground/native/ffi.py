"""A native program as a function that XLA calls: the handler of its foreign-function interface, in LLVM.

XLA hands over one structure (xla/ffi/api/c_api.h, beside jaxlib) with pointers to buffers. The handler finds them,
has the program called for each row of a batch, and returns no error. When XLA registers it, it asks the handler for its
version in an extension of the same structure. Nothing of Python runs in between.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import jax

from softground.native.errors import NotNative
from softground.native.llvm import module_text
from softground.native.machine import address, kept_code, machine_code
from softground.native.program import Interface, Program
from softground.native.sharing import sharing_text
from softground.native.writer import Writer

HANDLER = "softground_handler"
#: How the structures of the interface that handlers use begin, by their fields (_: one that they do not use). The
#: numbers below stand on it.
LAYOUT = {
    name: fields.split()
    for name, fields in {
        "CallFrame": "struct_size extension_start api ctx stage args rets",
        "Args": "struct_size extension_start size types args",
        "Rets": "struct_size extension_start size types rets",
        "Buffer": "struct_size extension_start dtype data rank dims",
        "(?:Extension_Base|InternalExtension)": "struct_size type next",
        "Metadata_Extension": "extension_base metadata",
        "Metadata": "struct_size api_version traits",
        "Api_Version": "struct_size extension_start major_version minor_version",
        "Error_Create_Args": "struct_size extension_start message errc",
        "Error_Destroy_Args": "struct_size extension_start error",
        "Stream_Get_Args": "struct_size extension_start ctx stream",
        "ThreadPool_Schedule_Args": "struct_size extension_start ctx task data",
        "ThreadPool_NumThreads_Args": "struct_size extension_start ctx num_threads",
        "Api": "struct_size extension_start api_version internal_api Error_Create _ Error_Destroy _ Stream_Get _ _ _ _ "
        "_ _ ThreadPool_Schedule ThreadPool_NumThreads",
    }.items()
}

# Bytes from the start of a structure of the interface (64-bit machines).
_FRAME_EXTENSION, _FRAME_ARGUMENTS, _FRAME_RESULTS = 8, 72, 112
_EXTENSION_TYPE, _EXTENSION_METADATA = 8, 24
_METADATA_MAJOR, _METADATA_MINOR, _METADATA_TRAITS = 24, 28, 32
_BUFFER_DATA, _BUFFER_RANK, _BUFFER_DIMENSIONS = 24, 32, 40
_TYPE_METADATA = 1


def register(key: str, make: Callable[[], Program], lanes: int = 1) -> str:
    """Make a program known to XLA, found on disk by its key or made and compiled: its name there.

    lanes: rows of a batch that are computed side by side.
    """
    digest, code = machine_code(f"{interface_version()} {lanes} {key}", lambda: whole_text(make(), lanes))
    return _register(f"{PREFIX}{digest}", code)


def register_again(name: str) -> None:
    """Make a program known to XLA that an earlier process has registered under this name; NotNative if it is gone."""
    _register(name, lambda: kept_code(name.removeprefix(PREFIX)))


@contextmanager
def noted() -> Iterator[set[str]]:
    """Names of the programs that are registered, or asked for again, in the meantime."""
    names: set[str] = set()
    _NOTED.append(names)
    try:
        yield names
    finally:
        _NOTED.remove(names)


def whole_text(program: Program, lanes: int = 1) -> str:
    """Text of a program that XLA can call, with so many rows of a batch side by side."""
    version = interface_version()
    return "\n".join(
        [
            module_text(program, lanes),
            rows_text(program, lanes),
            sharing_text(program, lanes),
            handler_text(program, version),
        ]
    )


PREFIX = "softground_"
_REGISTERED: set[str] = set()
_NOTED: list[set[str]] = []


def _register(name: str, code: bytes | Callable[[], bytes]) -> str:
    for names in _NOTED:
        names.add(name)
    if name not in _REGISTERED:
        code = code if isinstance(code, bytes) else code()
        handler = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)(address(name, code, HANDLER))
        jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(handler), platform="cpu")
        _REGISTERED.add(name)
    return name


@cache
def interface_version() -> tuple[int, int]:
    """Version of XLA's interface in this jaxlib; NotNative if it is one that we do not know."""
    header = Path(jax.ffi.include_dir(), "xla", "ffi", "api", "c_api.h")
    try:
        return version_of(header.read_text())
    except OSError as error:
        raise NotNative(f"native code needs the version of XLA's interface, but {header} cannot be read") from error


def version_of(header: str) -> tuple[int, int]:
    """Version of the interface that a header describes; NotNative if its structures do not begin as ours.

    New versions add fields at the end and change names, so those that are laid out alike are served alike.
    """
    found = dict(re.findall(r"#define XLA_FFI_API_(MAJOR|MINOR) (\d+)", header))
    version = int(found.get("MAJOR", -1)), int(found.get("MINOR", -1))
    strange = [name for name, known in LAYOUT.items() if not _begins(_fields(header, name), known)]
    if version[0] != 0 or version[1] < 0 or strange:
        raise NotNative(
            f"native code does not know version {version[0]}.{version[1]} of XLA's foreign-function interface"
            f"{' (' + ', '.join(strange) + ' differ)' if strange else ''}: install the versions of constraints.txt"
        )
    return version


def _begins(fields: list[str], known: list[str]) -> bool:
    return len(fields) >= len(known) and all(b in ("_", a) for a, b in zip(fields, known, strict=False))


def _fields(header: str, structure: str) -> list[str]:
    """Names of the fields of a structure, in order."""
    found = re.search(rf"struct XLA_FFI_{structure} {{(.*?)\n}}", header, re.DOTALL)
    text = re.sub(r"//[^\n]*", "", found[1]) if found else ""
    return [re.sub(r"^XLA_FFI_", "", name) for name in re.findall(r"(\w+)\)?\s*;", text)]


def handler_text(program: Program, version: tuple[int, int]) -> str:
    """The handler of a program whose `@share` stands in the same module."""
    writer = Writer(program.precision)
    begin_handler(writer, version)
    data, rows = pointers_and_rows(writer, program.interface)
    writer.line(f"call void @share(ptr %frame, ptr {data}, i64 {rows})")
    writer.line("ret ptr null")
    return "\n".join([*writer.lines, "}", ""])


def begin_handler(writer: Writer, version: tuple[int, int], traits: int = 0) -> None:
    """A handler that has answered XLA's question for its version and traits, and is now to compute."""
    writer.lines.append(f"define ptr @{HANDLER}(ptr %frame) nounwind {{")
    writer.begin("entry")
    extension = _pointer(writer, "%frame", _FRAME_EXTENSION)
    writer.line(f"br i1 {writer.let(f'icmp eq ptr {extension}, null')}, label %execute, label %extended")
    writer.begin("extended")
    kind = writer.let(f"load i32, ptr {_place(writer, extension, _EXTENSION_TYPE)}")
    writer.line(f"br i1 {writer.let(f'icmp eq i32 {kind}, {_TYPE_METADATA}')}, label %metadata, label %execute")
    writer.begin("metadata")
    metadata = _pointer(writer, extension, _EXTENSION_METADATA)
    for offset, number in zip((_METADATA_MAJOR, _METADATA_MINOR, _METADATA_TRAITS), (*version, traits), strict=True):
        writer.line(f"store i32 {number}, ptr {_place(writer, metadata, offset)}")
    writer.line("ret ptr null")
    writer.begin("execute")


def pointers_and_rows(writer: Writer, interface: Interface) -> tuple[str, str]:
    """A table of where the data of inputs and outputs begin, and the number of rows.

    How many rows there are, an output tells: its numbers over those of a row; none if there is nothing to compute.
    """
    inputs = _buffers(writer, _FRAME_ARGUMENTS, len(interface.inputs))
    outputs = _buffers(writer, _FRAME_RESULTS, len(interface.outputs))
    data = writer.let(f"alloca [{len(inputs) + len(outputs)} x ptr]")
    for k, buffer in enumerate((*inputs, *outputs)):
        writer.line(f"store ptr {_pointer(writer, buffer, _BUFFER_DATA)}, ptr {_place(writer, data, 8 * k)}")
    told = next((k for k, buffer in enumerate(interface.outputs) if buffer.size), None)
    if told is None:
        return data, "0"
    return data, writer.let(f"udiv i64 {_numbers(writer, outputs[told])}, {interface.outputs[told].size}")


def rows_text(program: Program, lanes: int = 1) -> str:
    """`@rows`: the program, for the rows of a batch from one to another, given a table of where buffers begin."""
    writer = Writer(program.precision)
    writer.open_function("internal void @rows(ptr %data, i64 %first, i64 %last)")
    starts = [_pointer(writer, "%data", 8 * k) for k in range(len(program.inputs) + len(program.outputs))]
    writer.line("br label %next")
    writer.begin("next")
    writer.line("%row = phi i64 [ %first, %entry ], [ %following, %body ]")
    writer.line(f"br i1 {writer.let('icmp ult i64 %row, %last')}, label %body, label %done")
    writer.begin("body")
    writer.line(f"call void @row({', '.join([*(f'ptr {start}' for start in starts), 'i64 %row', 'i64 %last'])})")
    writer.line(f"%following = add i64 %row, {lanes}")
    writer.line("br label %next")
    writer.begin("done")
    writer.close_function()
    return "\n".join([*writer.lines, ""])


def _numbers(writer: Writer, buffer: str) -> str:
    """Product of the dimensions of a buffer."""
    rank = writer.let(f"load i64, ptr {_place(writer, buffer, _BUFFER_RANK)}")
    dimensions = _pointer(writer, buffer, _BUFFER_DIMENSIONS)
    before = writer.label
    writer.line("br label %axis")
    writer.begin("axis")
    axis, product, next_axis, next_product = (writer.fresh() for _ in range(4))
    writer.line(f"{axis} = phi i64 [ 0, %{before} ], [ {next_axis}, %multiply ]")
    writer.line(f"{product} = phi i64 [ 1, %{before} ], [ {next_product}, %multiply ]")
    writer.line(f"br i1 {writer.let(f'icmp ult i64 {axis}, {rank}')}, label %multiply, label %counted")
    writer.begin("multiply")
    place = writer.let(f"getelementptr i64, ptr {dimensions}, i64 {axis}")
    writer.line(f"{next_product} = mul i64 {product}, {writer.let(f'load i64, ptr {place}')}")
    writer.line(f"{next_axis} = add i64 {axis}, 1")
    writer.line("br label %axis")
    writer.begin("counted")
    return product


def _buffers(writer: Writer, offset: int, count: int) -> list[str]:
    """Pointers to the structures of the arguments or of the results."""
    table = _pointer(writer, "%frame", offset)
    return [_pointer(writer, table, 8 * k) for k in range(count)]


def _place(writer: Writer, structure: str, offset: int) -> str:
    return writer.let(f"getelementptr i8, ptr {structure}, i64 {offset}")


def _pointer(writer: Writer, structure: str, offset: int) -> str:
    return writer.let(f"load ptr, ptr {_place(writer, structure, offset)}")
