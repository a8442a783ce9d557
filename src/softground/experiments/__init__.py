"""Measuring the ground: rigs, campaigns, the wrench database, learning."""

from typing import TYPE_CHECKING

from softground.lazy import lazily

if TYPE_CHECKING:  # what `__getattr__` finds, for editors and type checkers
    from softground.experiments import campaign, learning, rigs
    from softground.experiments.campaign import Grid, Outcome, acquire, campaign_status, collect, run_campaign
    from softground.experiments.convexity import Concavity, concavity_of
    from softground.experiments.database import WrenchDatabase
    from softground.experiments.database_file import from_zhu2019, read_any, read_database, write_database
    from softground.experiments.figures import change_figure, hull_figure, slices_figure
    from softground.experiments.force_log import ForceLog, LoggedRun, from_logs, read_log
    from softground.experiments.learning import METHODS, Learned, learn
    from softground.experiments.protocol import Motion, Pose, Recording
    from softground.experiments.rigs import RIGS, Rig, named_rig
    from softground.experiments.symmetry import completed, with_zero_depth
    from softground.experiments.trajectory import FootTrajectory

__all__ = [
    "METHODS",
    "RIGS",
    "Concavity",
    "FootTrajectory",
    "ForceLog",
    "Grid",
    "Learned",
    "LoggedRun",
    "Motion",
    "Outcome",
    "Pose",
    "Recording",
    "Rig",
    "WrenchDatabase",
    "acquire",
    "campaign",
    "campaign_status",
    "change_figure",
    "collect",
    "completed",
    "concavity_of",
    "from_logs",
    "from_zhu2019",
    "hull_figure",
    "learn",
    "learning",
    "named_rig",
    "read_any",
    "read_database",
    "read_log",
    "rigs",
    "run_campaign",
    "slices_figure",
    "with_zero_depth",
    "write_database",
]

_HOMES = {
    "campaign": ("Grid", "Outcome", "acquire", "campaign_status", "collect", "run_campaign"),
    "convexity": ("Concavity", "concavity_of"),
    "trajectory": ("FootTrajectory",),
    "database": ("WrenchDatabase",),
    "database_file": ("from_zhu2019", "read_any", "read_database", "write_database"),
    "figures": ("change_figure", "hull_figure", "slices_figure"),
    "force_log": ("ForceLog", "LoggedRun", "from_logs", "read_log"),
    "learning": ("METHODS", "Learned", "learn"),
    "protocol": ("Motion", "Pose", "Recording"),
    "rigs": ("RIGS", "Rig", "named_rig"),
    "symmetry": ("completed", "with_zero_depth"),
}
__getattr__, __dir__ = lazily(__name__, __all__, _HOMES)
