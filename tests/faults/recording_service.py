"""An independent service for kill tests: keeps the exact bytes of every sequence and swears if one ever changes.

It knows the device protocol and nothing of the product's code. It loses answers on purpose.
"""

import hashlib
import json
import random
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class RecordingService:
    """What a device has told.

    Attributes:
        entries: Exact bytes by (epoch, sequence).
        fault: What went wrong first; empty for nothing.
        lossy: Whether answers are lost.
    """

    def __init__(self, seed: int) -> None:
        self.entries: dict[tuple[int, int], bytes] = {}
        self.ids: dict[str, tuple[int, int]] = {}
        self.fault = ""
        self.lossy = True
        self.chance = random.Random(seed)
        self.lock = threading.Lock()
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._answer(200 if self.path.startswith("/v1/health") else 503, {})

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status, answer = service.take(self.path, body)
                if service.lossy and service.chance.random() < 0.2:
                    self.close_connection = True
                    self.connection.close()
                    return
                self._answer(status, answer)

            def _answer(self, status: int, answer: dict[str, object]) -> None:
                raw = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def log_message(self, *_: object) -> None:
                pass

            def handle_one_request(self) -> None:
                try:
                    super().handle_one_request()
                except (OSError, ValueError):
                    self.close_connection = True

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.address = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def take(self, path: str, body: bytes) -> tuple[int, dict[str, object]]:
        with self.lock:
            if path.endswith("/batch"):
                return self._batch(json.loads(body))
            message = json.loads(body)
            self._keep(message["epoch"], message["device_seq"], body)
            return 200, {
                "outcome": "accepted",
                "display": "LIBERADO",
                "turnstile": "TURN",
                "class": "FREE",
                "durable_seq": self.durable(message["epoch"]),
                "missing": [],
            }

    def _batch(self, message: dict[str, object]) -> tuple[int, dict[str, object]]:
        epoch, first = message["epoch"], message["first_seq"]
        texts = message["entries"]
        assert isinstance(epoch, int)
        assert isinstance(first, int)
        assert isinstance(texts, list)
        items = []
        for seq, text in enumerate(texts, start=first):
            self._keep(epoch, seq, text.encode())
            items.append({"device_seq": seq, "recorded": True})
        return 200, {
            "epoch": epoch,
            "items": items,
            "head_recorded": True,
            "durable_seq": self.durable(epoch),
            "missing": [],
        }

    def _keep(self, epoch: int, seq: int, exact: bytes) -> None:
        before = self.entries.setdefault((epoch, seq), exact)
        if before != exact:
            self.fault = self.fault or f"sequence {seq} was {before!r} and is {exact!r}"
        message = json.loads(exact)
        if (message["epoch"], message["device_seq"]) != (epoch, seq):
            self.fault = self.fault or f"sequence {seq} carries number {message['device_seq']}"
        if "medium" in message:
            place = self.ids.setdefault(message["boarding_id"], (epoch, seq))
            if place != (epoch, seq):
                self.fault = self.fault or f"boarding id of {place} comes again under {seq}"

    def durable(self, epoch: int) -> int:
        seq = 0
        while (epoch, seq + 1) in self.entries:
            seq += 1
        return seq


def chain_of(device_id: str, epoch: int, entries: list[bytes]) -> bytes:
    """The head of a chain, computed here from the protocol's words alone."""
    head = hashlib.sha256(
        b"catraca-chain-1\x00" + device_id.encode() + b"\x00" + epoch.to_bytes(8, "big")
    ).digest()
    for exact in entries:
        digest = hashlib.sha256(b"catraca-entry-1\x00" + device_id.encode() + b"\x00" + exact).digest()
        head = hashlib.sha256(head + digest).digest()
    return head
