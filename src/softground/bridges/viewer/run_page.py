"""The page of a run: plays, scrubs, and shows what the ground and the actuators did."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import viser

from softground.bridges.playback import Playback, playback
from softground.bridges.viewer import serving
from softground.bridges.viewer.clock import PlaybackClock
from softground.bridges.viewer.curves import run_curves
from softground.bridges.viewer.footprints import Footprints
from softground.bridges.viewer.ground_sheet import ground_sheet
from softground.bridges.viewer.plot_drawing import PlotDrawing, legend
from softground.bridges.viewer.soles import feet_function, smallest_half_width, sole
from softground.bridges.viewer.stage import HORIZON, Stage
from softground.bridges.viewer.true_prints import TruePrints
from softground.bridges.viewer.wrench_hulls import force_vertices_of, has_wrench_space
from softground.planning.plan import Plan, load_motion
from softground.runs import RobotMotion, Run
from softground.simulation.simulator import Simulator

FRAMES_A_SECOND = 50  # of the run: where the cursor can stand
REFRESH = 1 / 30  # s, between pictures
PLOT_REFRESH = 1 / 8  # s, between moves of the plots' cursor while playing: each sends all points
SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "4")


class RunPage:
    """A run or a plan in a web page. `show(frame)` draws one moment; `serve()` plays until it is told to stop."""

    def __init__(self, shown: Run | Plan, server: viser.ViserServer, now: Callable[[], float] = time.monotonic):
        dataset = shown.motion if isinstance(shown, Plan) else shown
        self.server = server
        self.simulator = dataset.simulator()
        self.play = playback(dataset, fps=FRAMES_A_SECOND, speed=1.0)
        self.configurations = dataset["configuration"].values[_rows(dataset, self.play)]
        self.prints = run_footprints(self.simulator, self.play, self.configurations)
        self.clock = PlaybackClock(float(self.play.time[-1] - self.play.time[0]), now)
        self.frame = -1
        self.stop = threading.Event()
        self._drawing = threading.Lock()
        self._force_vertices = force_vertices_of(self.simulator) if has_wrench_space(self.simulator) else None
        self.stage = Stage(
            server,
            self.play.model,
            self.prints,
            foot_bodies=self.play.foot_body,
            size=self.play.size,
            weight=self.play.weight,
        )
        self._add_controls(shown.troubles())
        self.plots = self._add_plots(dataset)
        self._plots_moved = -np.inf
        self.stage.traces.show(self.play.base, self.play.foot)
        self.stage.look_at(self.play.base[0])
        self.show(0)

    # -- drawing -----------------------------------------------------------------------------------------

    def show(self, frame: int) -> None:
        """Draw one frame."""
        play = self.play
        with self._drawing, self.server.atomic():
            self.frame = frame
            self.stage.robot.pose(play.position[frame], play.quaternion[frame])
            self.stage.ground.show(frame)
            self._show_forces(frame)
            self.slider.value = round(float(play.time[frame] - play.time[0]), 2)
            self.caption.content = f"**{play.title}** · t = {play.time[frame]:.2f} s"
        self.stage.follow_base(play.base[frame])

    def _show_forces(self, frame: int) -> None:
        hulls = self.stage.hulls
        wanted = self._force_vertices is not None and hulls.hulls_visible
        vertices = self._force_vertices(self.configurations[frame]) if wanted and self._force_vertices else None
        hulls.show(self.play.foot[frame], self.play.base[frame], self.play.force[frame], vertices)

    def show_cursor(self) -> None:
        """Move the plots' cursor to the frame that is drawn."""
        for plot in self.plots:
            plot.show_cursor(float(self.play.time[self.frame]))

    # -- controls ----------------------------------------------------------------------------------------

    def _add_controls(self, notes: list[str]) -> None:
        gui = self.server.gui
        self.caption = gui.add_markdown(f"**{self.play.title}**")
        for note in notes:
            gui.add_markdown(f"⚠ {note}")
        self.play_button = gui.add_button("Pause", icon=viser.Icon.PLAYER_PAUSE)
        self.slider = gui.add_slider("time (s)", 0.0, max(self.clock.duration, 0.02), 0.02, initial_value=0.0)
        self.speed = gui.add_dropdown("speed", SPEEDS, initial_value="1")
        self.loop = gui.add_checkbox("repeat", True)
        with gui.add_folder("Show"):
            granular = self._force_vertices is not None
            hint = "the forces that the ground can exert" if granular else "this ground has none: it is not granular"
            self.hulls = gui.add_checkbox("wrench spaces", granular, disabled=not granular, hint=hint)
            self.forces = gui.add_checkbox("forces", True)
            self.traces = gui.add_checkbox("traces", True)
            self.follow = gui.add_checkbox("follow the robot", True)
            self.reset = gui.add_button("Reset view")
        self._attach()

    def _attach(self) -> None:
        self.play_button.on_click(lambda _: self._toggle())
        self.slider.on_update(lambda event: self._scrubbed(event))
        self.speed.on_update(lambda _: setattr(self.clock, "speed", float(self.speed.value)))
        self.loop.on_update(lambda _: setattr(self.clock, "loop", self.loop.value))
        self.reset.on_click(lambda _: self.stage.look_at(self.play.base[self.frame]))
        self.traces.on_update(lambda _: self.stage.traces.set_visible(self.traces.value))
        self.follow.on_update(lambda _: setattr(self.stage, "follow", self.follow.value))
        self.hulls.on_update(lambda _: self._set_hulls("hulls_visible", self.hulls.value))
        self.forces.on_update(lambda _: self._set_hulls("arrows_visible", self.forces.value))

    def _set_hulls(self, name: str, visible: bool) -> None:
        setattr(self.stage.hulls, name, visible)
        self.show(self.frame)

    def _toggle(self) -> None:
        if self.clock.playing:
            self.clock.pause()
        else:
            self.clock.play()
        self._label_play_button()

    def _label_play_button(self) -> None:
        playing = self.clock.playing
        label = "Pause" if playing else "Play"
        if self.play_button.label != label:
            self.play_button.label = label
            self.play_button.icon = viser.Icon.PLAYER_PAUSE if playing else viser.Icon.PLAYER_PLAY

    def _scrubbed(self, event: viser.GuiEvent) -> None:
        if event.client is not None:  # moved by a person, not by us
            self.clock.seek(self.slider.value)

    def _add_plots(self, dataset: RobotMotion) -> list[PlotDrawing]:
        with self.server.gui.add_folder("Plots"):
            self.server.gui.add_html(legend([foot.name for foot in self.simulator.robot.feet]))
            return [PlotDrawing(self.server, curves) for curves in run_curves(dataset)]

    # -- playing -----------------------------------------------------------------------------------------

    def update(self) -> None:
        """Draw where the clock is, if that has changed."""
        cursor = self.clock.cursor()
        start = float(self.play.time[0])
        frame = int(np.clip(np.searchsorted(self.play.time, start + cursor - 1e-9), 0, len(self.play.time) - 1))
        self._label_play_button()
        if frame != self.frame:
            self.show(frame)
        now = time.monotonic()
        if now - self._plots_moved > PLOT_REFRESH:
            self._plots_moved = now
            self.show_cursor()

    def serve(self) -> None:
        """Play until `stop` is set. The playback begins when the first browser looks."""
        while not self.stop.is_set() and not self.server.get_clients():
            self.stop.wait(0.1)
        self.clock.play()
        while not self.stop.is_set():
            if self.server.get_clients():
                self.update()
            self.stop.wait(REFRESH)


def run_footprints(simulator: Simulator, play: Playback, configurations: np.ndarray) -> Footprints:
    """The prints of a whole run; none where the ground does not keep them."""
    robot = simulator.robot
    reach = 2.5 * float(play.foot_radius.max()) + 0.3 * play.size
    places = play.foot.reshape(-1, 3)[:, :2]
    low, high = places.min(axis=0) - reach, places.max(axis=0) + reach
    cell = min(smallest_half_width(robot), 0.25 * play.size) / 4
    sheet, felt = ground_sheet(play.surface, low, high, cell, HORIZON * play.size), simulator.ground.footprints
    if felt is not None:
        true = TruePrints(sheet, felt, [foot.shape for foot in robot.feet])
        feet = feet_function(robot, play.surface)(configurations)
        for frame in range(len(configurations)):
            true.tread(frame, jax.tree.map(lambda x, frame=frame: x[frame], feet))
        return true
    prints = Footprints(sheet)
    if has_wrench_space(simulator):
        feet = feet_function(robot, play.surface)(configurations)
        for frame, foot in np.argwhere(feet.depth > 0):
            prints.press(int(frame), int(foot), sole(robot, feet, frame, foot))
    return prints


def _rows(dataset: RobotMotion, play: Playback) -> np.ndarray:
    """Samples of the run that the playback's frames are."""
    return np.searchsorted(dataset["time"].values, play.time)


def view_run(
    run: Run | Plan | str | Path,
    *,
    host: str = serving.LOOPBACK,
    port: int = serving.PORT,
    open_browser: bool = False,
    announce: Callable[[str], Any] = print,
) -> None:
    """Show a run or a plan, or the file of one, in a web page until Ctrl-C."""
    shown = run if isinstance(run, Run | Plan) else load_motion(run)
    serving.check_address(host, port)
    server = serving.start_server(host, port)
    serving.serve_until_interrupted(server, lambda: RunPage(shown, server), open_browser, announce)
