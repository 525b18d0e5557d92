"""Section 5: the journal in batches. Each entry is answered in its place, and none fails another."""

from datetime import timedelta
from typing import Any

from backoffice.conformance.device import spell
from backoffice.conformance.kit import VERDICTS, Kit, items_of, reason_of
from backoffice.conformance.link import Answer, spell_instant

MOST_ENTRIES = 1_000


def check_batches(kit: Kit) -> None:
    """Signed heads, repeats, gaps, entries that break their form, releases and clocks."""
    _straight(kit)
    _envelopes(kit)
    _gap(kit)
    _malformed(kit)
    _duplicate(kit)
    _releases(kit)
    _clocks(kit)


def takes(kit: Kit, section: int, clause: str, came: Answer, first: int, count: int) -> bool:
    """A clause that all entries of a batch are recorded in their places, with the head."""
    body, items = came.body, items_of(came)
    held = (
        came.status == 200
        and body.get("epoch") == kit.device.epoch
        and body.get("head_recorded") is True
        and [item.get("device_seq") for item in items] == list(range(first, first + count))
        and all(item.get("recorded") is True for item in items)
        and all(item.get("verdict", "excluded") in VERDICTS for item in items)
    )
    expected = f"200, {count} entradas registradas em ordem, head_recorded"
    return kit.report.holds(section, clause, expected, came, held)


def _straight(kit: Kit) -> None:
    boarding, tap = kit.write_tap()
    kit.write_release(boarding)
    body = kit.device.batch(tap.seq)
    first = kit.upload(body)
    takes(kit, 5, "toque e liberação com a cabeça assinada", first, tap.seq, 2)
    reasons = [reason_of(item) for item in items_of(first)]
    verdicts = {item.get("verdict") for item in items_of(first)}
    held = reasons == ["OK", "OK"] and len(verdicts) == 1 and verdicts <= set(VERDICTS)
    kit.report.holds(5, "veredicto da liberação", "o do toque que ela cita, com o motivo OK", first, held)
    again = kit.upload(body)
    held = again.status == 200 and items_of(again) == items_of(first)
    kit.report.holds(5, "o mesmo lote de novo", "os mesmos itens", again, held)
    came = kit.upload(kit.device.batch(kit.device.next_seq))
    takes(kit, 5, "lote sem entradas leva só a cabeça", came, kit.device.next_seq, 0)
    _, late = kit.write_tap()
    online = kit.board(late.exact)
    came = kit.upload(kit.device.batch(late.seq))
    takes(kit, 5, "o que já foi enviado sozinho vai também no lote", came, late.seq, 1)
    held = [reason_of(item) for item in items_of(came)] == [reason_of(online.body)]
    kit.report.holds(5, "o lote não decide de novo", "o motivo da resposta dada", came, held)


def _envelopes(kit: Kit) -> None:
    """Batches that cannot be attributed or read are refused whole; afterwards their entry is still new."""
    device = kit.device
    tap = kit.tap()
    entry = spell(tap).decode()
    start = device.next_seq
    end_head = device.head(device.last_seq)
    wrong: dict[str, dict[str, Any]] = {
        "assinatura de outros bytes": {"signature": "00" * 64},
        "assinatura da cabeça anterior": {"signature": device.sign(device.last_seq, end_head)},
        "cabeça que não é a assinada": {"head": "00" * 32},
        "closing que não foi assinado": {"closing": True},
        "first_seq que não foi assinado": {"first_seq": start + 1},
        "época que nunca foi emitida": {"epoch": device.epoch + 1},
        "cabeça curta": {"head": "00"},
        "campo desconhecido": {"extra": 1},
        "entrada que não é texto": {"entries": [tap]},
        "first_seq 0": {"first_seq": 0},
    }
    for name, changes in wrong.items():
        body = device.batch(start, more=[entry], **changes)
        kit.is_problem(5, f"lote com {name}", kit.upload(body), 422, "malformed")
    upper = device.batch(start, more=[entry]).replace((b'"signature":"'), b'"signature":"A')
    kit.is_problem(5, "lote com assinatura de 129 algarismos", kit.upload(upper), 422, "malformed")
    kit.is_problem(5, "lote que não é JSON", kit.upload(b"{"), 422, "malformed")
    body = device.batch(start, more=["{}"] * (MOST_ENTRIES + 1))
    kit.is_problem(5, f"lote de {MOST_ENTRIES + 1} entradas", kit.upload(body), 422, "malformed")

    device.write(entry)
    came = kit.board(entry.encode())
    held = came.status == 200 and came.body.get("replayed") is False
    kit.report.holds(5, "lote recusado não registrou nada", "o toque ainda é novo", came, held)


def _gap(kit: Kit) -> None:
    """The later entry first: it is recorded, and the earlier one is taken when it comes."""
    _, early = kit.write_tap()
    _, late = kit.write_tap()
    came = kit.upload(kit.device.batch(late.seq))
    takes(kit, 5, "lote depois de uma lacuna", came, late.seq, 1)
    if kit.wait_s:
        lacks = wait_for_missing(kit, early.seq)
        kit.report.holds(
            7, "missing diz a lacuna", f"[{early.seq}, {early.seq}]", f"missing {lacks}", lacks is not None
        )
    else:
        kit.report.skip(7, "missing diz a lacuna", "com --wait 0 não se espera o registro")
    came = kit.upload(kit.device.batch(early.seq))
    takes(kit, 5, "a lacuna preenchida, com a entrada seguinte repetida", came, early.seq, 2)


def wait_for_missing(kit: Kit, seq: int) -> list[object] | None:
    """The answer's `missing` as soon as it names a number; None where the time is over."""
    waited = 0.0
    while True:
        came = kit.upload(kit.device.batch(kit.device.next_seq))
        ranges = came.body.get("missing") or []
        if any(first <= seq <= last for first, last in ranges):
            return list(ranges)
        if waited >= kit.wait_s:
            return None
        kit.link.pause(0.5)
        waited += 0.5


def _malformed(kit: Kit) -> None:
    device = kit.device
    _, first = kit.write_tap()
    bad = {
        "não é JSON": "isto não é JSON",
        "fica em outro número": spell(kit.tap(device_seq=device.next_seq + 500)).decode(),
        "é de outra época": spell(kit.tap(device_seq=device.next_seq + 2, epoch=device.epoch + 1)).decode(),
        "tem mais de 4.096 bytes": '"' + "x" * 5_000 + '"',
        "tem um campo desconhecido": spell(kit.tap(device_seq=device.next_seq + 4, extra=1)).decode(),
    }
    for text in bad.values():
        device.write(text)
    kit.write_tap()
    came = kit.upload(device.batch(first.seq))
    takes(kit, 5, "entradas que quebram a forma ficam no seu lugar", came, first.seq, len(bad) + 2)
    items = items_of(came)
    if len(items) != len(bad) + 2:
        return
    for name, item in zip(bad, items[1:-1], strict=True):
        held = item.get("verdict") == "excluded" and bool(item.get("note"))
        kit.report.holds(5, f"entrada que {name}", "excluded, com note", item, held)
    ends = [reason_of(items[0]), reason_of(items[-1])]
    kit.report.holds(5, "as vizinhas valem", "motivo OK", ends, ends == ["OK", "OK"])


def _duplicate(kit: Kit) -> None:
    boarding, first = kit.write_tap()
    kit.write_tap(boarding_id=boarding, trip="outra")
    kit.write_tap()
    came = kit.upload(kit.device.batch(first.seq))
    takes(kit, 5, "o mesmo id duas vezes no lote", came, first.seq, 3)
    reasons = [reason_of(item) for item in items_of(came)]
    expected = ["OK", "BOARDING_ID_CONFLICT", "OK"]
    kit.report.holds(5, "só o segundo está em conflito", ", ".join(expected), came, reasons == expected)


def _releases(kit: Kit) -> None:
    """The first release stands; held over an acceptance and let in over a refusal are both written down."""
    held_over, first = kit.write_tap()
    kit.write_release(held_over, released=False, epoch=kit.device.epoch)
    kit.write_release(held_over, released=True)
    refused, _ = kit.write_tap(medium={"kind": "card", "token": "???"})
    kit.write_release(refused, released=True, mode="offline", list_version=0, **{"class": "FREE"})
    annulled, _ = kit.write_tap()
    kit.write_annulment(annulled)
    came = kit.upload(kit.device.batch(first.seq))
    takes(kit, 5, "liberações e anulação no lote", came, first.seq, 7)
    items = items_of(came)
    if len(items) != 7:
        return
    verdicts = [item.get("verdict") for item in items]
    kit.report.holds(
        5, "retido apesar de aceito; a primeira liberação vale", "excluded nos três", verdicts[:3],
        verdicts[:3] == ["excluded"] * 3,
    )  # fmt: skip
    held = [reason_of(item) for item in items[3:5]] == ["TOKEN_INVALID"] * 2
    kit.report.holds(5, "liberado apesar de recusado", "motivo TOKEN_INVALID nos dois", items[3:5], held)
    held = verdicts[5:7] == ["excluded"] * 2
    kit.report.holds(5, "anulado no lote", "excluded nos dois", items[5:7], held)


def _clocks(kit: Kit) -> None:
    now = kit.link.now()
    _, first = kit.write_tap(occurred_at=spell_instant(now + timedelta(minutes=10)))
    kit.write_tap(occurred_at=spell_instant(now - timedelta(days=46)))
    kit.write_tap(occurred_at=spell_instant(now - timedelta(hours=20)))
    came = kit.upload(kit.device.batch(first.seq))
    takes(kit, 5, "toques do futuro e de 46 dias atrás", came, first.seq, 3)
    reasons = [reason_of(item) for item in items_of(came)]
    expected = ["CLOCK_INVALID", "CLOCK_INVALID", "OK"]
    kit.report.holds(
        5, "esperam que uma pessoa os date; o de ontem vale", ", ".join(expected), came, reasons == expected
    )
