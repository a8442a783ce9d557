"""Pages for the viewer's tests: no browser, a clock that is moved by hand."""

import contextlib

from softground.bridges.viewer import serving


class HandClock:
    """A clock that stands still until it is moved."""

    def __init__(self):
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


@contextlib.contextmanager
def served():
    """A server on any free port, stopped at the end."""
    server = serving.start_server(port=0)
    try:
        yield server
    finally:
        server.stop()


def sent_bytes(server) -> int:
    """What a browser that connects now is sent, in bytes of arrays and texts."""
    messages = server._websock_server._broadcast_buffer.message_from_id.values()
    return sum(_size(vars(message)) for message in messages)


def _size(value) -> int:
    if hasattr(value, "nbytes"):
        return value.nbytes
    if isinstance(value, dict):
        return sum(_size(item) for item in value.values())
    if isinstance(value, tuple | list):
        return sum(_size(item) for item in value)
    if isinstance(value, bytes | str):
        return len(value)
    return _size(vars(value)) if hasattr(value, "__dict__") else 8
