"""The web server of the viewer: on this machine only, unless told otherwise."""

from __future__ import annotations

import contextlib
import signal
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import viser

from softground.errors import OptionError

LOOPBACK, PORT = "127.0.0.1", 8080


def start_server(host: str = LOOPBACK, port: int = PORT, title: str = "softground") -> viser.ViserServer:
    """Serve on host and port; OptionError where that is not possible. Port 0 takes any free one."""
    check_address(host, port)
    server = viser.ViserServer(host=host, port=port, label=title, verbose=False)
    # No button to share: it would publish the page through a server of others.
    server.gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(176, 122, 52))
    server.gui.main_panel.dock_right()
    server.gui.main_panel.set_width(360)
    return server


def check_address(host: str, port: int) -> None:
    """Bind once to see whether one may: the server itself would quietly take another port."""
    if not 0 <= port <= 65535:
        raise OptionError(f"--port must lie between 0 and 65535, got {port}")
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        with socket.socket(family, socket.SOCK_STREAM) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            trial.bind((host, port))
    except OSError as error:
        raise OptionError(
            f"cannot serve on {host}, port {port} ({error.strerror or error}): choose another with --port, "
            "or --port 0 for any free one, and a --host of this machine"
        ) from error


def address(server: viser.ViserServer) -> str:
    """Where a browser finds the page."""
    host = server.get_host()
    return f"http://{'localhost' if host in ('0.0.0.0', '::') else host}:{server.get_port()}"


@contextlib.contextmanager
def interrupts_set(stop: threading.Event) -> Iterator[None]:
    """While inside, the first Ctrl-C sets `stop` instead of raising; the second raises as ever.

    Raised in the middle of a compilation, it would leave JAX in a state that crashes when Python ends.
    """
    if threading.current_thread() is not threading.main_thread():  # only the main thread may handle signals
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def ask(*_) -> None:
        stop.set()
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, ask)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


class Page(Protocol):
    """What is served: runs until its `stop` is set."""

    stop: threading.Event

    def serve(self) -> None: ...


def serve_until_interrupted(
    server: viser.ViserServer, make_page: Callable[[], Page], open_browser: bool, announce: Callable[[str], Any]
) -> None:
    """Make the page, say where it is, and serve it until Ctrl-C."""
    stop = threading.Event()
    try:
        with interrupts_set(stop):
            page = make_page()
            page.stop = stop
            announce(f"{address(server)}   (Ctrl-C ends)")
            if open_browser:
                webbrowser.open(address(server))
            page.serve()
    except KeyboardInterrupt:
        pass
    finally:
        server.stop()
