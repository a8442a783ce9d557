"""The viewer in a real browser: Debian's chromium, headless, with WebGL drawn by the processor."""

import contextlib
import io
import shutil
import threading
import time

import imageio.v3 as imageio
import numpy as np
import pytest

from softground.bridges.viewer import LivePage, LiveSettings, RunPage, serving
from softground.bridges.viewer.live_loop import LiveLoop
from softground.control import hold_posture
from softground.media import sand
from softground.robots import Robot
from softground.runs import run
from softground.simulation import Ground, Simulator
from softground.surfaces import Plane

from .viewer_cases import served

webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium")
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

PATIENCE = 90.0  # s: drawing without a graphics card is slow, and machines are shared
FLAGS = (
    *(
        "--headless=new",
        "--no-sandbox",
        "--window-size=720,460",
        "--force-device-scale-factor=0.5",
        "--disable-dev-shm-usage",
    ),
    *("--use-angle=swiftshader", "--enable-unsafe-swiftshader"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"),
)


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver):
        pytest.skip("no browser here: on Debian and Ubuntu, apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=driver))
    yield browser
    browser.quit()


def wait_for(what, condition):
    """The first true value of a condition that a browser fulfils in its own time."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if value := condition():
            return value
        time.sleep(0.2)
    raise AssertionError(f"{what} within {PATIENCE:g} s")


def picture(browser) -> np.ndarray:
    """What the browser shows of the scene beside controls, notices and axes, grey values."""
    image = imageio.imread(io.BytesIO(browser.get_screenshot_as_png()))
    return image[90:, 30:180, :3].astype(float).mean(axis=2)


def shows_ground(image: np.ndarray) -> bool:
    """Grey over most of the picture; a page without a scene is white (255)."""
    return np.median(image) < 230


def drawn(browser) -> np.ndarray:
    """The scene once it is drawn and stands still."""

    def still():
        first = picture(browser)
        time.sleep(0.5)
        second = picture(browser)
        settled = first.shape == second.shape and np.abs(first - second).mean() < 0.5
        return second if settled and shows_ground(second) else None

    return wait_for("the scene is drawn", lambda: None if (image := still()) is None else (image,))[0]


def plainly_lit(server) -> None:
    """Without shadows and reflections, on which a processor that draws spends most of its time."""
    server.scene.configure_environment_map(None)
    server.scene.configure_default_lights(enabled=True, cast_shadow=False)


def control(browser, label: str):
    """The input beside this label."""
    path = f"//label[normalize-space()='{label}']/ancestor::*[descendant::input][1]//input[not(@type='hidden')]"
    return wait_for(f"{label} is there", lambda: browser.find_elements(By.XPATH, path))[0]


@contextlib.contextmanager
def running(page):
    """Let a page run in a thread."""
    thread = threading.Thread(target=page.serve, daemon=True)
    thread.start()
    try:
        yield
    finally:
        page.stop.set()
        thread.join(20)


@pytest.mark.slow
def test_a_run_is_drawn_and_scrubbed(browser):
    robot = Robot.load("robosimian")
    simulator = Simulator(robot, Ground(sand(2.0), Plane(0.1)), 0.002)
    dataset = run(simulator, simulator.initial_state(height=0.4), hold_posture(robot), 0.6, every=5, progress=False)
    with served() as server, running(page := RunPage(dataset, server)):
        plainly_lit(server)
        browser.get(serving.address(server))
        pause = "//button[normalize-space()='Pause']"
        wait_for("the run plays", lambda: browser.find_elements(By.XPATH, pause))[0].click()
        scrub(browser, page, 0.0)
        before = drawn(browser)
        scrub(browser, page, 0.5)
        wait_for(
            "the robot falls by 0.4 m in the picture",
            lambda: (np.abs(picture(browser) - before) > 20).mean() > 0.005,
        )


def scrub(browser, page: RunPage, moment: float) -> None:
    """Type a time (s) and wait for the page to show it."""
    field = control(browser, "time (s)")
    field.send_keys(Keys.CONTROL, "a")
    field.send_keys(f"{moment}", Keys.ENTER)
    wait_for("the run is scrubbed", lambda: abs(page.play.time[page.frame] - moment) < 0.03)


@pytest.mark.slow
def test_the_live_controls_change_the_medium(browser):
    loop = LiveLoop(Robot.load("foot"), LiveSettings(medium="sand"))
    with served() as server, running(page := LivePage(loop, server)):
        plainly_lit(server)
        browser.get(serving.address(server))
        wait_for("the scene is drawn", lambda: shows_ground(picture(browser)))
        field = control(browser, "medium")
        field.click()
        option = "//*[@role='option'][normalize-space()='pebbles']"
        wait_for("media are offered", lambda: browser.find_elements(By.XPATH, option))[0].click()
        wait_for("the medium changes", lambda: page.loop.settings.medium == "pebbles")
