"""The clock of a playback: where the cursor is while it plays, is paused, or is moved."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class PlaybackClock:
    """Cursor (s) in a run of some duration (s). Any thread may move it."""

    def __init__(self, duration: float, now: Callable[[], float] = time.monotonic):
        self.duration = duration
        self.loop = True
        self._now = now
        self._lock = threading.Lock()
        self._playing, self._speed, self._cursor, self._since = False, 1.0, 0.0, now()

    @property
    def playing(self) -> bool:
        """Whether the cursor moves by itself."""
        return self._playing

    @property
    def speed(self) -> float:
        """Seconds of the run a second."""
        return self._speed

    @speed.setter
    def speed(self, speed: float) -> None:
        with self._lock:
            self._advance()
            self._speed = speed

    def cursor(self) -> float:
        """Where the playback is (s). At the end it starts again, or stops where `loop` is off."""
        with self._lock:
            self._advance()
            return self._cursor

    def play(self) -> None:
        """Go on; from the start where the end has been reached."""
        with self._lock:
            self._advance()
            if self._cursor >= self.duration:
                self._cursor = 0.0
            self._playing = True

    def pause(self) -> None:
        """Stay here."""
        with self._lock:
            self._advance()
            self._playing = False

    def seek(self, cursor: float) -> None:
        """Go to a moment (s)."""
        with self._lock:
            self._advance()
            self._cursor = min(max(cursor, 0.0), self.duration)

    def _advance(self) -> None:
        now = self._now()
        if self._playing:
            cursor = self._cursor + self._speed * (now - self._since)
            if cursor >= self.duration and self.loop and self.duration > 0:
                cursor %= self.duration
            self._cursor = min(cursor, self.duration)
            self._playing = self._cursor < self.duration
        self._since = now
