"""Campaigns: a grid of runs on a rig, on many workers, interruptible at any moment."""

from softground.experiments.campaign.collecting import beds_in, collect
from softground.experiments.campaign.merging import merge, pack
from softground.experiments.campaign.plan import Grid
from softground.experiments.campaign.running import Outcome, acquire, run_campaign
from softground.experiments.campaign.status import campaign_status

__all__ = ["Grid", "Outcome", "acquire", "beds_in", "campaign_status", "collect", "merge", "pack", "run_campaign"]
