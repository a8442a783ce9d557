"""Recipes of simulators: all that is needed to build one again, as JSON and a few arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from softground.errors import FileFormatError, SoftgroundError
from softground.robots import Robot
from softground.runs.description import describe, restore
from softground.simulation.ground import Ground
from softground.simulation.simulator import Simulator
from softground.surfaces import Surface


def simulator_recipe(simulator: Simulator, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """JSON-able recipe; large arrays are put into `arrays`.

    Leaves replaced after the simulator was built (`eqx.tree_at` on masses, say) are kept as `changes`.
    """
    robot, surface = simulator.robot, simulator.ground.surface
    recipe = {
        "robot": {"recipe": describe(robot.recipe, arrays, "robot"), "sha256": robot.sha256},
        "medium": describe(simulator.ground.medium, arrays, "medium"),
        "surface": describe(surface.to_dict(), arrays, "surface"),
        "dt": float(simulator.dt),
        "solver": describe(simulator.solver, arrays, "solver"),
        "grain_inertia": describe(simulator.grain_inertia, arrays, "grain_inertia"),
        "backend": simulator.backend,
    }
    changes = _changes(simulator, recipe, arrays)
    recipe["changes"] = {path: describe(leaf, arrays, f"change.{i}") for i, (path, leaf) in enumerate(changes.items())}
    return recipe


def build_simulator(recipe: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Simulator:
    """The simulator of a recipe; FileFormatError where it would not be the one that was described."""
    simulator = _plain(recipe, arrays)
    if simulator.robot.sha256 != recipe["robot"]["sha256"]:
        raise FileFormatError(
            f"the model of robot {simulator.robot.recipe.source!r} has changed since the run: its digest is "
            f"{simulator.robot.sha256[:12]}, the run's {recipe['robot']['sha256'][:12]}; restore it"
        )
    changes = {path: restore(leaf, arrays) for path, leaf in recipe["changes"].items()}
    leaves, structure = jax.tree_util.tree_flatten_with_path(simulator)
    unknown = set(changes) - {jax.tree_util.keystr(path) for path, _ in leaves}
    if unknown:
        raise FileFormatError(f"the run changed {sorted(unknown)}, which this version of softground does not have")
    return jax.tree.unflatten(structure, [changes.get(jax.tree_util.keystr(path), leaf) for path, leaf in leaves])


def _plain(recipe: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> Simulator:
    """The simulator before changes."""
    return Simulator(
        Robot.from_recipe(restore(recipe["robot"]["recipe"], arrays)),
        Ground(restore(recipe["medium"], arrays), Surface.from_dict(restore(recipe["surface"], arrays))),
        recipe["dt"],
        solver=restore(recipe["solver"], arrays),
        grain_inertia=restore(recipe["grain_inertia"], arrays),
        backend=recipe.get("backend", "auto"),
    )


def _changes(simulator: Simulator, recipe: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> dict:
    """Leaves (by path) in which the simulator differs from the one its recipe builds."""
    try:
        plain = _plain(recipe, arrays)
    except SoftgroundError:
        return {}  # holds code that no file can keep: building it again will say so
    leaves = jax.tree_util.tree_flatten_with_path(simulator)[0]
    built = {jax.tree_util.keystr(path): leaf for path, leaf in jax.tree_util.tree_flatten_with_path(plain)[0]}
    return {
        name: leaf
        for name, leaf in ((jax.tree_util.keystr(path), leaf) for path, leaf in leaves)
        if name not in built or not np.array_equal(leaf, built[name], equal_nan=True)
    }
