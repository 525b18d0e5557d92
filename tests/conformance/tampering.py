"""A proxy between device and service that changes answers: what a service would be that is not as the page says."""

import contextlib
import http.client
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

Change = Callable[[str, int, bytes], tuple[int, bytes]]
"""Changes an answer, by the path of its request."""

_HOP = {"connection", "transfer-encoding", "content-length", "date", "server", "host"}


@contextlib.contextmanager
def tampering(url: str, change: Change) -> Iterator[str]:
    """The address of a proxy in front of a service."""
    behind = urlsplit(url)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = 65_536

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            link = http.client.HTTPConnection(behind.hostname or "", behind.port, timeout=30)
            kept = {name: value for name, value in self.headers.items() if name.lower() not in _HOP}
            link.request(self.command, self.path, body or None, kept)
            came = link.getresponse()
            status, raw = change(self.path, came.status, came.read())
            link.close()
            self.send_response(status)
            for name, value in came.getheaders():
                if name.lower() not in _HOP:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        do_GET = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def careless(path: str, status: int, raw: bytes) -> tuple[int, bytes]:
    """A service that calls no answer a replay, forgets conflicts, swaps items, and hands out changed chunks."""
    if "/chunks/" in path and status == 200:
        return status, raw[:-1] + bytes([raw[-1] ^ 1])
    if status not in (200, 409) or not raw.startswith(b"{"):
        return status, raw
    body = json.loads(raw)
    if status == 409:
        return 200, raw
    if path == "/v1/boardings/batch":
        body["items"].reverse()
        body["head_recorded"] = False
    elif path.endswith("/annul"):
        body["outcome"] = "annulled"
    elif path == "/v1/boardings":
        body |= {"replayed": False, "durable_seq": -1}
    return status, json.dumps(body).encode()
