"""A network that can be cut: a TCP proxy between a browser and a site."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from types import TracebackType
from urllib.parse import urlsplit


class Wire:
    """``url`` leads to the site as long as the wire is whole. Used with ``with``."""

    def __init__(self, url: str) -> None:
        target = urlsplit(url)
        self._target = (str(target.hostname), target.port or 80)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._is_whole = True
        self._passes = threading.Event()
        self._passes.set()
        self._lock = threading.Lock()
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/"

    def __enter__(self) -> Wire:
        self._start(self._accept)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.cut()
        self._listener.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
        self._listener.close()

    def cut(self) -> None:
        """Break every connection and refuse new ones."""
        with self._lock:
            self._is_whole = False
            for end in self._open:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def hold(self) -> None:
        """Break every connection and let new ones wait without an answer."""
        self._passes.clear()
        self.cut()
        with self._lock:
            self._is_whole = True

    def mend(self) -> None:
        """Let new connections through, and those that wait."""
        with self._lock:
            self._is_whole = True
        self._passes.set()

    def _start(self, work: object, *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                if not self._is_whole:
                    near.close()
                    continue
                far = socket.create_connection(self._target)
                self._open |= {near, far}
            self._start(self._carry, near, far)

    def _carry(self, near: socket.socket, far: socket.socket) -> None:
        """Both ways until one end closes; then both are closed."""
        self._passes.wait(10)
        back = threading.Thread(target=_pump, args=(far, near), daemon=True)
        back.start()
        _pump(near, far)
        back.join(10)
        with self._lock:
            self._open -= {near, far}
        near.close()
        far.close()


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(65_536):
            target.sendall(piece)
    for end in (source, target):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
