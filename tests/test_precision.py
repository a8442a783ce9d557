"""What needs double precision says so, at once and with the remedy; what does not works without."""

from pathlib import Path
from types import SimpleNamespace

import jax
import pytest

import softground as sg
from softground.arrays import require_double
from softground.control.whole_body import WholeBodyController
from softground.errors import OptionError
from softground.planning import Plan, solve
from softground.planning.problem import walking_problem
from softground.planning.sensitivity import slope_of_optimum
from softground.planning.transcription import Transcription

GAIT = Path(__file__).parent / "data" / "gait_0_1.nc"
RUN = Path(__file__).parent / "data" / "run_0_1.nc"
REMEDY = r'needs double precision: call jax.config.update\("jax_enable_x64", True\) .* or set JAX_ENABLE_X64=1'


@pytest.fixture(scope="module")
def parts() -> SimpleNamespace:
    foot = sg.Robot.load("foot")
    problem = walking_problem(foot, sg.Ground(sg.sand()), height=0.0)
    return SimpleNamespace(foot=foot, problem=problem, gait=Plan.load(GAIT), run=sg.Run.load(RUN))


NEED = {
    "plan": lambda parts: sg.plan(parts.foot, sg.sand()),
    "solve": lambda parts: solve(parts.problem, parts.gait.trajectory),
    "second derivatives": lambda parts: Transcription(parts.problem),
    "derivative of an optimum": lambda parts: slope_of_optimum(parts.gait, lambda p: p, 1.0),
    "whole-body control": lambda parts: WholeBodyController(parts.foot, [], []),
    "repeating a run of double precision": lambda parts: parts.run.repeat(),
}


@pytest.mark.parametrize("what", NEED)
def test_single_precision_is_refused_with_the_remedy(what, parts):
    with jax.enable_x64(False), pytest.raises(OptionError, match=REMEDY):
        NEED[what](parts)


def test_double_precision_is_not():
    require_double("this")


def test_a_plan_opens_and_is_measured_in_single_precision(tmp_path):
    with jax.enable_x64(False):
        plan = sg.load(GAIT)
        assert plan.motion.fall() is None
        assert sg.load(plan.save(tmp_path / "gait.nc")).trajectory.q.dtype == "float64"
