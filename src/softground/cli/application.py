"""The application: its errors, its version, how JAX is set up, and the options that commands share."""

from __future__ import annotations

import os
from typing import Annotated

import typer
from typer.core import TyperGroup

from softground.errors import SoftgroundError


class Group(TyperGroup):
    """Prints errors of ours as one line, exit code 2; others show their traceback."""

    def invoke(self, ctx):
        try:
            return super().invoke(ctx)
        except SoftgroundError as error:
            from rich.console import Console
            from rich.markup import escape

            Console(stderr=True).print(
                f"[bold red]error:[/] [red]{escape(str(error))}", soft_wrap=True, highlight=False
            )
            raise typer.Exit(2) from error


app = typer.Typer(
    cls=Group,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output, nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress bars, no table.")]


FEW_STEPS = 100_000
"""Steps of a run that take less time than XLA would to make them a tenth faster."""


def configure_jax(for_batches: bool = False, brief: bool = False) -> None:
    """Settings that JAX reads when it starts. One robot: double precision on one thread; batches: neither.

    PJRT_NPROC=1 keeps XLA's executor sequential: small steps in a loop run 1.5 times as fast. Without asynchronous
    dispatch a controller that calls a compiled function every millisecond waits a third less. `ynn` keeps small
    products away from a matrix library (10 % faster). brief: what is compiled runs for few steps, so that a program
    which compiles in half the time serves better than one that runs a tenth faster. XLA stops at flags it does not
    know, hence the check. Compiled programs are kept for the next call, apart for every kind of processor. What is
    imported and traced stays: looking through it for garbage every 700 objects would take a tenth of a short command.
    """
    import gc
    import importlib.metadata

    from softground.cache import programs_folder

    gc.set_threshold(100_000)

    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(programs_folder()))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    os.environ.setdefault("JAX_PERSISTENT_CACHE_ENABLE_XLA_CACHES", "none")

    flags = ["--xla_cpu_multi_thread_eigen=false"]
    if not for_batches:
        os.environ.setdefault("PJRT_NPROC", "1")
        if brief:  # threads of NumPy's matrix library cost small products more than they give
            os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        os.environ.setdefault("JAX_CPU_ENABLE_ASYNC_DISPATCH", "0")
        os.environ.setdefault("JAX_ENABLE_X64", "1")
        if importlib.metadata.version("jaxlib").startswith("0.10."):
            flags.append("--xla_cpu_experimental_ynn_fusion_type=")
            if brief:
                flags += ["--xla_cpu_use_fusion_emitters=false", "--xla_backend_optimization_level=1"]
    given = os.environ.get("XLA_FLAGS", "")
    os.environ["XLA_FLAGS"] = " ".join([given, *(f for f in flags if f.split("=")[0] not in given)]).strip()


def _show_version(wanted: bool) -> None:
    if wanted:
        import importlib.metadata

        print(importlib.metadata.version("softground"))
        raise typer.Exit()


@app.callback(epilog="First steps: [bold]softground demo[/]   then   [bold]softground simulate robosimian --slope 5[/]")
def main(
    version: Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Version.")] = False,
) -> None:
    """Legged robots on ground that yields: sand, pebbles, foam.

    Simulate, walk and plan; measure grains and learn a medium from them; look at runs, and repeat published results.
    Every command that writes a run takes --out, every one that prints takes --json, and COMMAND --help has examples.
    """
