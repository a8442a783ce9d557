"""The viewer: a web page that plays a run, or simulates live."""

from softground.bridges.viewer.live_page import LivePage, view_live
from softground.bridges.viewer.live_settings import LiveSettings
from softground.bridges.viewer.run_page import RunPage, view_run

__all__ = ["LivePage", "LiveSettings", "RunPage", "view_live", "view_run"]
