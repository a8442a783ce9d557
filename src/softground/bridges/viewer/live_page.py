"""The page of a live simulation: one changes the ground, the load and the gait while it runs."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import viser

from softground.bridges.playback import body_poses, robot_size, weight_drawn
from softground.bridges.viewer import serving
from softground.bridges.viewer.curves import Curves, curves_of
from softground.bridges.viewer.footprints import Footprints
from softground.bridges.viewer.ground_sheet import ground_sheet
from softground.bridges.viewer.live_loop import LiveLoop, LiveSample
from softground.bridges.viewer.live_settings import GAITS, LiveSettings
from softground.bridges.viewer.plot_drawing import PlotDrawing, legend
from softground.bridges.viewer.soles import feet_function, smallest_half_width, sole
from softground.bridges.viewer.stage import HORIZON, Stage
from softground.bridges.viewer.wrench_hulls import force_vertices_of, has_wrench_space
from softground.media.named import NAMED
from softground.robots import Robot

REFRESH = 1 / 30  # s, between pictures
PLOT_REFRESH, WINDOW = 1 / 4, 10.0  # s, between pictures of the plots, and what they show
FIELD = 3.0  # robot heights around the robot in which footprints are kept


class LivePage:
    """A live simulation in a web page. `update()` advances and draws; `serve()` does so until told to stop."""

    def __init__(self, loop: LiveLoop, server: viser.ViserServer):
        self.loop, self.server = loop, server
        self.robot = loop.robot
        self.model = self.robot.mujoco_model(meshes=True)
        self.size = robot_size(self.model, np.asarray(loop.state.q))
        self.weight = weight_drawn(self.robot)
        self.stop = threading.Event()
        self._wishes: queue.Queue[Callable[[], None]] = queue.Queue()
        self._history: deque[LiveSample] = deque(maxlen=int(WINDOW / REFRESH))
        self._path: deque[tuple[np.ndarray, np.ndarray]] = deque(maxlen=int(WINDOW / REFRESH))
        self._frame, self._plots_drawn = 0, -np.inf
        self._bind()
        foot_bodies = np.array([self.model.body(self.robot.body_names[foot.body]).id for foot in self.robot.feet])
        self.prints = self._fresh_prints()
        self.stage = Stage(server, self.model, self.prints, foot_bodies=foot_bodies, size=self.size, weight=self.weight)
        self._add_controls()
        self.plots = self._add_plots()
        self.stage.look_at(self._base())
        self.draw(loop.sample)

    def _bind(self) -> None:
        """What depends on the simulator's ground."""
        simulator = self.loop.simulator
        self._granular = has_wrench_space(simulator)
        self._feet = feet_function(self.robot, simulator.ground.surface)
        self._force_vertices = force_vertices_of(simulator) if self._granular else None

    # -- drawing -----------------------------------------------------------------------------------------

    def update(self) -> None:
        """Fulfil wishes, simulate up to now, draw."""
        while not self._wishes.empty():
            self._wishes.get()()
        sample = self.loop.update()
        if sample.finite:
            self._history.append(sample)
        self.draw(sample)

    def draw(self, sample: LiveSample) -> None:
        """Draw the present state."""
        position, quaternion = (part[0] for part in body_poses(self.model, sample.q[None]))
        feet = self._feet(sample.q[None])
        self._frame += 1
        base = self._base()
        with self.server.atomic():
            self.stage.robot.pose(position, quaternion)
            if self._granular:
                self._press(feet)
            vertices = None
            if self._force_vertices is not None and self.stage.hulls.hulls_visible:
                vertices = self._force_vertices(sample.q)
            self.stage.hulls.show(np.asarray(feet.position[0]), base, sample.force, vertices)
            self.status.content = status_line(sample, self.loop.message)
        self._path.append((base, np.asarray(feet.position[0])))
        self.stage.follow_base(base)
        if time.monotonic() - self._plots_drawn > PLOT_REFRESH:
            self._plots_drawn = time.monotonic()
            self._draw_plots_and_traces()

    def _press(self, feet) -> None:
        for foot in np.flatnonzero(feet.depth[0] > 0):
            self.prints.press(self._frame, int(foot), sole(self.robot, feet, 0, int(foot)))
        self.stage.ground.show(self._frame)

    def _draw_plots_and_traces(self) -> None:
        for plot, curves in zip(self.plots, self._curves(), strict=True):
            plot.show(curves)
        bases, feet = (np.array(part) for part in zip(*self._path, strict=True))
        if self.stage.traces.visible:
            self.stage.traces.show(bases, feet)

    def _base(self) -> np.ndarray:
        """Where the torso is (m)."""
        position, _ = body_poses(self.model, self.loop.sample.q[None])
        return position[0, self.model.body(self.robot.body_names[0]).id].copy()

    def _fresh_prints(self) -> Footprints:
        """Untouched ground around the robot."""
        base = self._base()[:2]
        reach = np.full(2, FIELD * self.size)
        cell = min(smallest_half_width(self.robot), 0.25 * self.size) / 4
        surface = self.loop.simulator.ground.surface
        return Footprints(
            ground_sheet(surface, base - reach, base + reach, cell, HORIZON * self.size), keep_history=False
        )

    # -- controls ----------------------------------------------------------------------------------------

    def _add_controls(self) -> None:
        gui, settings = self.server.gui, self.loop.settings
        gui.add_markdown(f"**{self.robot.name}**, live")
        self.status = gui.add_markdown("")
        media = tuple(dict.fromkeys([*NAMED, settings.medium]))
        with gui.add_folder("Ground"):
            self.medium = gui.add_dropdown("medium", media, initial_value=settings.medium)
            self.strength = gui.add_slider(
                "strength", 0.2, 10.0, 0.1, initial_value=float(np.clip(settings.strength, 0.2, 10.0))
            )
            hint = "the robot starts again on another slope"
            self.slope = gui.add_slider(
                "slope (deg)", -30.0, 30.0, 1.0, initial_value=float(np.clip(settings.slope, -30, 30)), hint=hint
            )
        with gui.add_folder("Robot"):
            most = max(5.0, float(np.ceil(0.5 * float(self.robot.total_mass))))
            self.payload = gui.add_slider("payload (kg)", 0.0, most, 0.5, initial_value=min(settings.payload, most))
            gaits = GAITS if len(self.robot.feet) == 4 and self.robot.nu else GAITS[:1]
            self.gait = gui.add_dropdown("gait", gaits, initial_value=settings.gait)
            self.push = gui.add_button("Push", disabled=not self.loop.can_push)
            self.reset = gui.add_button("Reset")
        with gui.add_folder("Show", expand_by_default=False):
            self.hulls = gui.add_checkbox("wrench spaces", True, hint="of granular ground")
            self.forces = gui.add_checkbox("forces", True)
            self.traces = gui.add_checkbox("traces", True)
            self.follow = gui.add_checkbox("follow the robot", True)
            self.reset_view = gui.add_button("Reset view")
        self._attach()

    def _attach(self) -> None:
        """Callbacks run in threads of the server's: they only leave a wish, which `update` fulfils."""
        for name in ("medium", "strength", "slope", "payload", "gait"):
            control = getattr(self, name)
            control.on_update(lambda _, n=name, c=control: self._wish(lambda: self.change(**{n: c.value})))
        self.push.on_click(lambda _: self._wish(self.loop.push))
        self.reset.on_click(lambda _: self._wish(self.start_anew))
        self.reset_view.on_click(lambda _: self._wish(lambda: self.stage.look_at(self._base())))
        stage = self.stage
        self.hulls.on_update(lambda _: setattr(stage.hulls, "hulls_visible", self.hulls.value))
        self.forces.on_update(lambda _: setattr(stage.hulls, "arrows_visible", self.forces.value))
        self.traces.on_update(lambda _: stage.traces.set_visible(self.traces.value))
        self.follow.on_update(lambda _: setattr(stage, "follow", self.follow.value))

    def _wish(self, wish: Callable[[], None]) -> None:
        self._wishes.put(wish)

    def change(self, **settings) -> None:
        """Change settings of the simulation, compile what they need, and show the ground they make."""
        if all(getattr(self.loop.settings, name) == value for name, value in settings.items()):
            return
        before = self.loop.settings
        self.status.content = "compiling ..."
        self.server.flush()
        restarted = self.loop.change(**settings)
        if self.loop.settings == before:  # refused: put the control back
            for name in settings:
                getattr(self, name).value = getattr(before, name)
            return
        self._bind()
        self.loop.warm_up()
        if restarted or self.loop.settings.medium != before.medium:
            self._show_fresh_ground()
        if restarted:
            self._forget()

    def start_anew(self) -> None:
        """Put the robot back to the start, on untouched ground."""
        self.loop.reset()
        self._forget()
        self._show_fresh_ground()

    def _show_fresh_ground(self) -> None:
        self.prints = self._fresh_prints()
        self.stage.replace_ground(self.prints)

    def _forget(self) -> None:
        self._history.clear()
        self._path.clear()
        self.stage.look_at(self._base())

    def _add_plots(self) -> list[PlotDrawing]:
        with self.server.gui.add_folder("Plots"):
            self.server.gui.add_html(legend([foot.name for foot in self.robot.feet]))
            return [PlotDrawing(self.server, curves) for curves in self._curves()]

    def _curves(self) -> list[Curves]:
        samples = list(self._history) or [self.loop.sample]
        names = [foot.name for foot in self.robot.feet]
        time_, force, depth, power = (
            np.array([getattr(sample, name) for sample in samples]) for name in ("time", "force", "depth", "power")
        )
        return curves_of(time_, force[..., 2], depth, power, names)

    # -- serving -----------------------------------------------------------------------------------------

    def serve(self) -> None:
        """Simulate and draw until `stop` is set; nothing moves while nobody looks."""
        self.status.content = "compiling ..."
        self.loop.warm_up()
        watched = False
        while not self.stop.is_set():
            began = time.monotonic()
            if self.server.get_clients():
                if not watched:
                    self.loop.warm_up()
                self.update()
            watched = bool(self.server.get_clients())
            self.stop.wait(max(REFRESH - (time.monotonic() - began), 0.002))


def status_line(sample: LiveSample, message: str) -> str:
    """How the simulation is doing, in one line."""
    if not sample.finite:
        return f"⚠ t = {sample.time:.2f} s: the next state is not finite. Press **Reset**, or choose other settings."
    line = f"t = {sample.time:.2f} s · {sample.speed:.2f} of real time"
    if sample.not_converged:
        line += f" · ⚠ {sample.not_converged} of {sample.steps} steps did not converge"
    return f"{line}\n\n⚠ {message}" if message else line


def view_live(
    robot: Robot,
    settings: LiveSettings,
    *,
    dt: float = 0.002,
    host: str = serving.LOOPBACK,
    port: int = serving.PORT,
    open_browser: bool = False,
    announce: Callable[[str], Any] = print,
) -> None:
    """Simulate live in a web page until Ctrl-C, in steps of dt (s)."""
    serving.check_address(host, port)
    loop = LiveLoop(robot, settings, dt)
    server = serving.start_server(host, port)
    serving.serve_until_interrupted(server, lambda: LivePage(loop, server), open_browser, announce)
