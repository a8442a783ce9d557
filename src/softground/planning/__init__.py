"""Planning gaits on yielding ground: contact-implicit trajectory optimisation (zhu2021)."""

from softground.planning.constraints import Cycle, InsideData
from softground.planning.costs import BaseAttitude, BaseHeight, Effort, ForwardSpeed, Periodicity
from softground.planning.drawn import Manner, drawn_walk
from softground.planning.dynamics.bilevel import Bilevel
from softground.planning.dynamics.closed_form import ClosedForm
from softground.planning.feedback import TrackState
from softground.planning.guesses import carried_over, gallop, tracked, trot_in_place, turned, walk_at_speed
from softground.planning.online import Answers, Replanning, answers
from softground.planning.plan import Plan
from softground.planning.planner import plan
from softground.planning.problem import Boundary, GaitProblem, Limits, walking_problem
from softground.planning.replay import Replay, replay
from softground.planning.report import Report
from softground.planning.search import Search
from softground.planning.solve import solve
from softground.planning.splines import FootSplines
from softground.planning.stages import Damping, Stage, blurred_stages, near_stages, standard_stages
from softground.planning.strides import stride
from softground.planning.survival import Survival, survival
from softground.planning.trajectory import GaitMetrics, Trajectory, gait_metrics, trajectory_of

__all__ = [
    "Answers",
    "BaseAttitude",
    "BaseHeight",
    "Bilevel",
    "Boundary",
    "ClosedForm",
    "Cycle",
    "Damping",
    "Effort",
    "FootSplines",
    "ForwardSpeed",
    "GaitMetrics",
    "GaitProblem",
    "InsideData",
    "Limits",
    "Manner",
    "Periodicity",
    "Plan",
    "Replanning",
    "Replay",
    "Report",
    "Search",
    "Stage",
    "Survival",
    "TrackState",
    "Trajectory",
    "answers",
    "blurred_stages",
    "carried_over",
    "drawn_walk",
    "gait_metrics",
    "gallop",
    "near_stages",
    "plan",
    "replay",
    "solve",
    "standard_stages",
    "stride",
    "survival",
    "tracked",
    "trajectory_of",
    "trot_in_place",
    "turned",
    "walk_at_speed",
    "walking_problem",
]
