"""Sections 1 and 9: who may ask, what a request is made of, and problem documents in two languages."""

from backoffice.conformance.device import spell
from backoffice.conformance.kit import BATCH, BOARDINGS, CannotGoOn, Kit
from backoffice.conformance.link import Answer

_TAP_BYTES, _BATCH_BYTES = 4_096, 2_000_000


def introduce(kit: Kit) -> None:
    """The first tap: the device is known, its epoch is the current one, and its numbers are its own.

    Raises:
        CannotGoOn: nothing can be tried with this token, epoch or journal.
    """
    boarding, entry = kit.write_tap()
    before = entry.seq
    came = kit.board(entry.exact)
    if came.status == 401:
        raise CannotGoOn("o serviço não conhece este token; confira --device-token")
    if came.status == 422 and came.body.get("field") == "epoch":
        raise CannotGoOn(f"{came.body.get('detail')} Confira --epoch.")
    if came.status == 503:
        raise CannotGoOn(f"o serviço não está pronto: {came.body.get('detail')}")
    if came.status == 409 or came.body.get("outcome") == "recorded" or kit.durable >= before:
        raise CannotGoOn(
            f"o número {before} já foi usado nesta época: o diário deste aparelho se perdeu; "
            "reinstale o validador (catraca device reinstall) e use a época nova"
        )
    if kit.upload(kit.device.batch(before)).body.get("field") == "signature":
        raise CannotGoOn("o serviço não aceita a assinatura deste aparelho; confira --key com o cadastro")
    held = came.status == 200 and came.body.get("boarding_id") == boarding
    kit.report.holds(1, "o validador é atendido com o seu token", "200 com o boarding_id", came, held)


def check_requests(kit: Kit) -> None:
    """Tokens, headers, methods and sizes. Nothing of it is recorded."""
    _strangers(kit)
    _envelopes(kit)
    _sizes(kit)
    _languages(kit)
    came = kit.link.get("/openapi.json")
    paths = came.body.get("paths")
    held = came.status == 200 and isinstance(paths, dict) and {BOARDINGS, BATCH} <= set(paths)
    kit.report.holds(1, "/openapi.json descreve as mensagens", "200 com os dois endereços", came.status, held)


def _strangers(kit: Kit) -> None:
    raw = spell(kit.tap())
    batch = kit.device.batch(1)
    tokens = {
        "sem token": None,
        "com outro segredo": f"Bearer {kit.device.id}.outro-segredo",
        "de um validador desconhecido": "Bearer ninguem-conhece.segredo",
        "com outro esquema": f"Basic {kit.device.token}",
    }
    for name, token in tokens.items():
        came = kit.board(raw, authorization=token)
        kit.is_problem(9, f"toque {name}", came, 401, "device-unknown")
    wrong = tokens["com outro segredo"]
    boarding = kit.boarding_id()
    answers = {
        "lote": kit.upload(batch, authorization=wrong),
        "anulação": kit.annul(boarding, spell({"annuls": boarding}), authorization=wrong),
        "lista": kit.link.get("/v1/sync?have=0", authorization=wrong),
        "pedaço de lista": kit.link.get(f"/v1/sync/chunks/{'0' * 64}", authorization=wrong),
    }
    for name, came in answers.items():
        kit.is_problem(9, f"{name} com outro segredo", came, 401, "device-unknown")


def _envelopes(kit: Kit) -> None:
    raw = spell(kit.tap())
    path = BOARDINGS
    for method in ("GET", "PUT", "DELETE"):
        came = kit.link.ask(method, path, {"Authorization": f"Bearer {kit.device.token}"})
        kit.is_problem(9, f"{method} em vez de POST", came, 405, "method-not-allowed")
    for name, headers in {
        "text/plain": {"content_type": "text/plain"},
        "outra codificação de letras": {"content_type": "application/json; charset=latin-1"},
        "com Content-Encoding": {"content_encoding": "gzip"},
    }.items():
        kit.is_problem(1, f"corpo {name}", kit.board(raw, **headers), 415, "unsupported-media-type")
    for name, sent_at in {
        "ausente": None,
        "sem fuso": "2026-03-02T07:15:03",
        "em segundos": "1772446503",
    }.items():
        came = kit.board(raw, catraca_sent_at=sent_at)
        kit.is_problem(1, f"Catraca-Sent-At {name}", came, 422, "malformed")
    came = kit.board(b"\xef\xbb\xbf" + raw)
    kit.is_problem(1, "marca de ordem de bytes", came, 422, "malformed")


def _sizes(kit: Kit) -> None:
    tap = kit.tap()
    over = spell(tap)[:-1] + b" " * _TAP_BYTES + b"}"
    kit.is_problem(4, f"toque de {len(over)} bytes", kit.board(over), 413, "too-large")
    entry = "x" * 4_000
    body = kit.device.batch(kit.device.next_seq, more=[entry] * (_BATCH_BYTES // len(entry) + 1))
    kit.is_problem(5, f"lote de {len(body)} bytes", kit.upload(body), 413, "too-large")


def _languages(kit: Kit) -> None:
    """A problem in two languages: the same kind, another sentence."""
    raw = spell(kit.tap(extra=1))
    plain, english = kit.board(raw), kit.board(raw, accept_language="en")
    portuguese = kit.board(raw, accept_language="pt-BR,pt;q=0.9,en;q=0.1")
    one, two = plain.body, english.body
    kit.report.holds(
        9,
        "problema em português e em inglês",
        "o mesmo type e status, outro title e outro detail",
        f"{plain} / {english}",
        _kind(plain) == _kind(english) == (422, "urn:catraca:problem:malformed")
        and one.get("title") != two.get("title")
        and one.get("detail") != two.get("detail"),
    )
    kit.report.holds(
        9, "português se nada é pedido", "o mesmo que com pt-BR", portuguese, portuguese.body == one
    )


def _kind(came: Answer) -> tuple[int, object]:
    return came.status, came.body.get("type")
