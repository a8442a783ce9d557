"""Where runs are made: in this process, or on Ray, here or on a cluster.

Both ways take a queue to which the caller may add while it is worked off, and give attempts as they end. Workers
send their records back, and only the caller writes files: a cluster needs no shared disk.
"""

from __future__ import annotations

import logging
import os
import time
import traceback
from collections import deque
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from softground.errors import ExperimentError
from softground.experiments.campaign.plan import Run
from softground.experiments.protocol import Recording, wrench_at_target
from softground.experiments.rigs.base import Rig

OBJECT_STORE = 100 * 2**20
"""Memory (bytes) of a local Ray for records on their way: they are small."""


@dataclass(frozen=True)
class Attempt:
    """What came of a run: a recording, or the reason why not."""

    run: Run
    recording: Recording | None
    wrench: np.ndarray | None  # (6,) filtered, at the target pose, at the sole's centre
    reason: str
    seconds: float  # of computing
    slots: int = 1  # runs that went on at a time


def attempt(rig: Rig, run: Run) -> Attempt:
    """Make a run; an exception of the rig becomes the reason."""
    start = time.perf_counter()
    try:
        rig.prepare(run.seed)
        start = time.perf_counter()
        recording = rig.record(run.motion, run.seed)
        wrench = wrench_at_target(recording, run.motion)
    except Exception:  # whatever a rig raises must not end the campaign
        return Attempt(run, None, None, traceback.format_exc(), time.perf_counter() - start)
    return Attempt(run, recording, wrench, "", time.perf_counter() - start)


def in_process(rig: Rig, pending: deque[Run]) -> Generator[Attempt]:
    """Make the runs one after the other, here."""
    while pending:
        yield attempt(rig, pending.popleft())


def on_ray(rig: Rig, pending: deque[Run], workers: int, address: str | None) -> Generator[Attempt]:
    """Make the runs on Ray: `workers` processes on this machine, or all of the cluster at `address`."""
    with running_ray(workers, address) as ray:
        # Each task runs single-threaded on one core; retries are counted by the caller, crashes included.
        make = ray.remote(num_cpus=1, max_retries=0)(_attempt_when_ready)
        prepare = ray.remote(num_cpus=1, max_retries=0)(_prepare)
        sent, ready, flying = ray.put(rig), {}, {}
        while pending or flying:
            slots = max(1, int(ray.cluster_resources().get("CPU", 1)))
            while pending and len(flying) < 2 * slots:  # twice, so that no worker waits for the next
                run = pending.popleft()
                if run.seed not in ready:
                    ready[run.seed] = prepare.remote(sent, run.seed)
                flying[make.remote(sent, run, ready[run.seed])] = run
            done = ray.wait(list(flying), num_returns=1)[0][0]
            yield _result(ray, done, flying.pop(done), slots)


@contextmanager
def running_ray(workers: int, address: str | None = None) -> Iterator[Any]:
    """Ray: the one that runs already, else one of `workers` processes here, or the cluster at `address`."""
    ray = _import_ray()
    ours = not ray.is_initialized()
    if ours:
        _start(ray, workers, address)
    try:
        yield ray
    finally:
        if ours:
            ray.shutdown()


def _prepare(rig: Rig, seed: int) -> None:
    """Prepare once before the runs of a seed start, lest all workers do it at the same time.

    Failure is silent here: the runs prepare too (at once, where it was done before) and report it.
    """
    try:
        rig.prepare(seed)
    except Exception:
        logging.getLogger(__name__).debug("preparation of seed %s failed", seed, exc_info=True)


def _attempt_when_ready(rig: Rig, run: Run, ready: None) -> Attempt:
    return attempt(rig, run)


def _result(ray: Any, done: Any, run: Run, slots: int) -> Attempt:
    try:
        result = ray.get(done)
    except ray.exceptions.RayError as error:  # the worker died: out of memory, a crash of the engine, a lost node
        return Attempt(run, None, None, f"the worker died: {type(error).__name__}: {error}", 0.0, slots)
    return replace(result, slots=slots)


def _import_ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # measuring the ground is no reason to call home
    try:
        import ray
    except ImportError as error:
        raise ExperimentError(
            'several workers and clusters need Ray: pip install "softground[cluster]", or use --workers 1'
        ) from error
    return ray


def _start(ray: Any, workers: int, address: str | None) -> None:
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address is None:
        # "local": else Ray would join whatever cluster was last started on this machine.
        here = {"address": "local", "num_cpus": workers, "object_store_memory": OBJECT_STORE}
        ray.init(include_dashboard=False, **here, **quiet)
        return
    try:
        ray.init(address=address, **quiet)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise ExperimentError(
            f"no Ray cluster answers at {address} ({str(error).splitlines()[0]}): start one with `ray start --head` "
            "and give its address as HOST:6379"
        ) from error
