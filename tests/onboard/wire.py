"""A wire between a device and the service, which a test may cut, slow down, or make swallow the answers."""

import socket
import threading
import time
from urllib.parse import urlsplit


class Wire:
    """Listens on a port of its own and hands everything on to an address.

    Attributes:
        cut: Nothing passes, and connections that stand are ended.
        deaf: Requests pass, answers do not.
        delay_s: How long each piece of an answer is held back.
    """

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        assert parts.hostname is not None
        self._target = (parts.hostname, parts.port or 80)
        self._server = socket.create_server(("127.0.0.1", 0))
        self.address = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        self.cut = False
        self.deaf = False
        self.delay_s = 0.0
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def sever(self) -> None:
        """Cut the wire now."""
        self.cut = True
        for one in self._open:
            _end(one)
        self._open.clear()

    def mend(self) -> None:
        """The wire is whole again."""
        self.cut, self.deaf, self.delay_s = False, False, 0.0

    def close(self) -> None:
        self.sever()
        self._server.close()

    def _accept(self) -> None:
        while True:
            try:
                device, _ = self._server.accept()
            except OSError:
                return
            if self.cut:
                _end(device)
                continue
            try:
                service = socket.create_connection(self._target, 5)
            except OSError:
                _end(device)
                continue
            self._open += [device, service]
            threading.Thread(target=self._carry, args=(device, service, False), daemon=True).start()
            threading.Thread(target=self._carry, args=(service, device, True), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket, answers: bool) -> None:
        try:
            while data := source.recv(65_536):
                if answers and self.delay_s:
                    time.sleep(self.delay_s)
                if not (answers and self.deaf):
                    target.sendall(data)
        except OSError:
            pass
        finally:
            _end(source)
            _end(target)


def _end(one: socket.socket) -> None:
    try:
        one.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    one.close()
