"""Section 4: one tap, its answer, its replay, and a conflict. Cards are tried where texts of cards are given."""

import re
from datetime import timedelta
from typing import Any

from backoffice.conformance.kit import Kit, reason_of
from backoffice.conformance.link import Answer, spell_instant

_FIELDS = {
    "boarding_id": str, "outcome": str, "reason": dict, "fare_cents": int, "rider_cents": int,
    "change_cents": int, "turnstile": str, "remaining": dict, "rules": str, "display": str, "message": str,
    "replayed": bool, "durable_seq": int, "missing": list,
}  # fmt: skip
_PURSES = ("STUDENT", "STUDENT/INTERIOR", "PREPAID", "PREPAID/INTERIOR", "VT", "VT/INTERIOR")
_MOVES = ("replayed", "durable_seq", "missing")
"""What may differ when the same bytes are answered again."""


def check_boardings(kit: Kit) -> None:
    """Answers, replays, conflicts, and clocks that are off."""
    boarding, entry = kit.write_tap()
    first = kit.board(entry.exact)
    _well_formed(kit, "toque de idoso com documento", boarding, first)
    held = first.body.get("outcome") == "accepted" and first.body.get("class") == "FREE"
    kit.report.holds(
        4, "idoso com documento passa sem pagar", "accepted, FREE (veja --line, --vehicle)", first, held
    )
    _replay(kit, entry.exact, first)
    _conflicts(kit, boarding, entry.exact, first)
    _media(kit)
    _clocks(kit)
    for number, card in enumerate(kit.cards, start=1):
        _card(kit, number, card)
    if not kit.cards:
        kit.report.skip(4, "toques de cartão", "dê --card para prová-los")


def is_answer(boarding: str, body: dict[str, Any]) -> bool:
    """Whether an answer to a tap has the form of the page."""
    if not all(type(body.get(name)) is kind for name, kind in _FIELDS.items()) or not {
        "class",
        "purse",
    } <= set(body):
        return False
    reason, cents = body["reason"], [body[f"{name}_cents"] for name in ("fare", "rider", "change")]
    form = (
        body["boarding_id"] == boarding
        and type(reason.get("code")) is int
        and type(reason.get("name")) is str
        and type(reason.get("final")) is bool
        and {"month_boardings", "passes"} <= set(body["remaining"])
        and body["turnstile"] in ("TURN", "HOLD", "NOT_TURNED")
        and len(body["display"]) <= 20
        and min(cents) >= 0
    )
    if body["outcome"] == "refused":
        nothing = body["class"] is None and body["purse"] is None and cents == [0, 0, 0]
        return form and reason["code"] > 0 and nothing
    known = body["class"] in ("FREE", "HALF", "PURSE", "FULL") and body["purse"] in (None, *_PURSES)
    return form and body["outcome"] == "accepted" and reason["code"] == 0 and known


def _well_formed(kit: Kit, clause: str, boarding: str, came: Answer) -> bool:
    held = came.status == 200 and is_answer(boarding, came.body)
    return kit.report.holds(4, clause, "200 com a resposta completa", came, held)


def _replay(kit: Kit, raw: bytes, first: Answer) -> None:
    again = kit.board(raw)
    held = _stands(first.body) == _stands(again.body) and again.body.get("replayed") is True
    kit.report.holds(4, "os mesmos bytes de novo", "a mesma resposta, replayed: true", again, held)
    english = kit.board(raw, accept_language="en")
    told = first.body.get("message"), english.body.get("message")
    held = told[0] != told[1] and first.body.get("display") == english.body.get("display")
    kit.report.holds(
        4, "message segue Accept-Language, display não", "outra frase, o mesmo display", told, held
    )


def _stands(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in _MOVES}


def _conflicts(kit: Kit, boarding: str, raw: bytes, first: Answer) -> None:
    """Each conflicting tap is journalled under a number of its own, as a device would do it."""
    changes: dict[str, dict[str, object]] = {
        "o mesmo id em outro toque": {"boarding_id": boarding, "trip": "outra"},
        "o mesmo id em letras maiúsculas": {"boarding_id": boarding.upper()},
        "o mesmo id em outro meio": {"boarding_id": boarding, "medium": {"kind": "card", "token": "X"}},
    }
    for name, change in changes.items():
        _, entry = kit.write_tap(**change)
        kit.is_problem(4, name, kit.board(entry.exact), 409, "boarding-id-conflict")
    again = kit.board(raw)
    held = again.status == 200 and _stands(again.body) == _stands(first.body)
    kit.report.holds(4, "depois do conflito vale o primeiro", "a primeira resposta", again, held)


def _media(kit: Kit) -> None:
    media: dict[str, dict[str, Any]] = {
        "texto de cartão ilegível": {"kind": "card", "token": "???"},
        "cartão de letras certas e assinatura falsa": {"kind": "card", "token": "AE" + "A" * 130},
        "dinheiro": {"kind": "cash", "tendered_cents": 1_000},
        "dinheiro, nada": {"kind": "cash", "tendered_cents": 0},
        "criança": {"kind": "key", "category": "CHILD"},
        "chip que ninguém tem": {"kind": "uid", "uid": "04" + kit.boarding_id()[-12:].upper()},
    }
    for name, medium in media.items():
        boarding, entry = kit.write_tap(medium=medium)
        came = kit.board(entry.exact)
        if not _well_formed(kit, name, boarding, came):
            continue
        body = came.body
        if medium["kind"] == "card":
            held = reason_of(body) == "TOKEN_INVALID"
            kit.report.holds(10, f"{name}: recusa", "TOKEN_INVALID", came, held)
        elif medium["kind"] == "uid":
            held = reason_of(body) == "CARD_UNKNOWN"
            kit.report.holds(10, f"{name}: recusa", "CARD_UNKNOWN", came, held)
        elif medium["kind"] == "cash" and body["outcome"] == "accepted":
            change = medium["tendered_cents"] - body["rider_cents"]
            kit.report.holds(4, f"{name}: troco", str(change), came, body["change_cents"] == change)


def _clocks(kit: Kit) -> None:
    """Section 8: a clock that is off strands nobody."""
    now = kit.link.now()
    ahead = spell_instant(now + timedelta(hours=1))
    boarding, entry = kit.write_tap()
    came = kit.board(entry.exact, catraca_sent_at=ahead)
    _well_formed(kit, "Catraca-Sent-At uma hora adiante é atendido", boarding, came)
    for name, at in {
        "uma hora no futuro": now + timedelta(hours=1),
        "de 46 dias atrás": now - timedelta(days=46),
    }.items():
        boarding, entry = kit.write_tap(occurred_at=spell_instant(at))
        came = kit.board(entry.exact)
        held = came.status == 200 and came.body.get("outcome") == "accepted"
        kit.report.holds(8, f"toque {name}, na hora", "accepted, pela hora do serviço", came, held)


def _card(kit: Kit, number: int, text: str) -> None:
    """A card's tap, replayed, and annulled again so that its holder keeps the pass."""
    name = f"cartão {number}"
    held = re.fullmatch(r"[A-Z2-7]{132}", text) is not None
    kit.report.holds(10, f"{name}: forma", "132 caracteres A-Z e 2-7", text, held)
    boarding, entry = kit.write_tap(medium={"kind": "card", "token": text})
    first = kit.board(entry.exact)
    if _well_formed(kit, f"{name}: toque", boarding, first):
        _replay(kit, entry.exact, first)
        if first.body["outcome"] == "accepted":
            undo = kit.write_annulment(boarding)
            came = kit.annul(boarding, undo.exact)
            held = came.body.get("outcome") == "annulled"
            kit.report.holds(6, f"{name}: anulado, o titular fica como estava", "annulled", came, held)
    for what, changed in {
        "em letras minúsculas": text.lower(),
        "cortado": text[:-1],
        "com bits que sobram": text[:-1] + _with_spare_bit(text[-1]),
        "com um bit trocado": text[:60] + ("A" if text[60] != "A" else "B") + text[61:],
    }.items():
        _, entry = kit.write_tap(medium={"kind": "card", "token": changed})
        came = kit.board(entry.exact)
        held = came.status == 200 and reason_of(came.body) == "TOKEN_INVALID"
        kit.report.holds(10, f"{name} {what}", "TOKEN_INVALID", came, held)


def _with_spare_bit(letter: str) -> str:
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
    return alphabet[alphabet.index(letter) ^ 1] if letter in alphabet else "B"
