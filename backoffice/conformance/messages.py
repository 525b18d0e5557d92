"""Section 2: how a message is spelt. What breaks the form is 422, records nothing, and takes no number."""

import json
from typing import Any

from backoffice.conformance.device import spell
from backoffice.conformance.kit import Kit
from backoffice.conformance.link import spell_instant

_BAD_INSTANTS = {
    "em segundos": 1772446502,
    "em segundos, como texto": "1772446502",
    "sem fuso": "2026-03-02T07:15:02",
    "com espaço": "2026-03-02 07:15:02-03:00",
    "sem segundos": "2026-03-02T07:15-03:00",
    "em forma básica": "20260302T071502Z",
    "por semana": "2026-W10-1T07:15:02Z",
    "com segundo 60": "2026-03-02T07:15:60-03:00",
    "com hora 24": "2026-03-02T24:00:00-03:00",
    "em 30 de fevereiro": "2026-02-30T07:15:02-03:00",
    "com vírgula": "2026-03-02T07:15:02,5-03:00",
    "com fuso sem dois-pontos": "2026-03-02T07:15:02-0300",
    "com dez casas": "2026-03-02T07:15:02.1234567891-03:00",
    "antes de 1970": "1969-12-31T23:59:59Z",
    "depois de 2100": "2101-01-01T00:00:00Z",
    "nulo": None,
}
_BAD_FIELDS: dict[str, tuple[str, Any]] = {
    "boarding_id que não é UUID": ("boarding_id", "1"),
    "boarding_id sem hífens": ("boarding_id", "0193c0de7b0a70008000000000000001"),
    "boarding_id entre chaves": ("boarding_id", "{0193c0de-7b0a-7000-8000-000000000001}"),
    "device_seq 0": ("device_seq", 0),
    "device_seq negativo": ("device_seq", -1),
    "device_seq como texto": ("device_seq", "5"),
    "device_seq 5.0": ("device_seq", 5.0),
    "device_seq verdadeiro": ("device_seq", True),
    "device_seq 2^63": ("device_seq", 2**63),
    "epoch 0": ("epoch", 0),
    "line como número": ("line", 102),
    "line vazia": ("line", ""),
    "line de 65 letras": ("line", "x" * 65),
    "line com caractere de controle": ("line", "1\x00"),
    "vehicle com quebra de linha": ("vehicle", "12\n07"),
    "trip com separador de linha": ("trip", "\u2028"),
    "continues que não é UUID": ("continues", "ontem"),
    "campo desconhecido": ("extra", 1),
    "medium vazio": ("medium", {}),
    "medium desconhecido": ("medium", {"kind": "face"}),
    "uid em letras minúsculas": ("medium", {"kind": "uid", "uid": "04a1b2c3"}),
    "uid de 3 bytes": ("medium", {"kind": "uid", "uid": "04A1B2"}),
    "uid de 5 bytes": ("medium", {"kind": "uid", "uid": "04A1B2C3D4"}),
    "dinheiro como texto": ("medium", {"kind": "cash", "tendered_cents": "1000"}),
    "dinheiro com fração": ("medium", {"kind": "cash", "tendered_cents": 10.5}),
    "dinheiro negativo": ("medium", {"kind": "cash", "tendered_cents": -1}),
    "campo a mais no medium": ("medium", {"kind": "cash", "tendered_cents": 1, "token": "x"}),
    "categoria desconhecida": ("medium", {"kind": "key", "category": "child"}),
    "número de documento": ("medium", {"kind": "document", "category": "ELDER", "document": "123456789"}),
}


def check_messages(kit: Kit) -> None:
    """What breaks the form, and the number that it did not take."""
    tap = kit.tap()
    for name, value in _BAD_INSTANTS.items():
        _refused(kit, f"occurred_at {name}", spell(tap | {"occurred_at": value}))
    for name, (field, value) in _BAD_FIELDS.items():
        _refused(kit, name, spell(tap | {field: value}))
    for field in ("boarding_id", "epoch", "device_seq", "occurred_at", "line", "vehicle", "medium"):
        _refused(kit, f"{field} ausente", spell({k: v for k, v in tap.items() if k != field}))
    text = spell(tap).decode()
    _refused(kit, "chave repetida", (text[:-1] + f',"line":{json.dumps(kit.line)}}}').encode())
    _refused(kit, "chave repetida no medium", spell(tap).replace(b'{"kind"', b'{"kind":"document","kind"'))
    for name, raw in {
        "corpo vazio": b"",
        "lista em vez de objeto": b"[]",
        "JSON aberto": b"{",
        "bytes que não são UTF-8": b"\xff\xfe",
    }.items():
        _refused(kit, name, raw)
    later = kit.board(spell(tap | {"epoch": kit.device.epoch + 1}))
    kit.is_problem(4, "época que nunca foi emitida", later, 422, "malformed")
    named = kit.board(spell(tap | {"device_seq": "5"})).body.get("field")
    kit.report.holds(9, "o problema diz o campo", "field: device_seq", named, named == "device_seq")

    kit.device.write(text)
    came = kit.board(text.encode())
    held = came.status == 200 and came.body.get("replayed") is False
    kit.report.holds(9, "o que foi 422 não deixou registro", "o mesmo toque certo é novo", came, held)
    _spellings(kit)


def _refused(kit: Kit, name: str, raw: bytes) -> None:
    kit.is_problem(2, name, kit.board(raw), 422, "malformed")


def _spellings(kit: Kit) -> None:
    """What is spelt otherwise and right."""
    now = spell_instant(kit.link.now())
    whole = now[:19]
    offset = now[now.index("T") :].partition(".")[2][3:]
    spellings: dict[str, dict[str, object]] = {
        "nove casas de fração": {"occurred_at": f"{whole}.123456789{offset}"},
        "sem fração": {"occurred_at": f"{whole}{offset}"},
        "com viagem": {"trip": "viagem: 07h15 - ida"},
        "continuação de um embarque desconhecido": {"continues": kit.boarding_id()},
    }
    if offset in ("+00:00", "Z"):
        spellings["fuso Z"] = {"occurred_at": f"{whole}Z"}
    for name, changes in spellings.items():
        _, entry = kit.write_tap(**changes)
        came = kit.board(entry.exact)
        kit.report.holds(2, name, "200", came, came.status == 200)
    for name, field in (
        ("JSON com espaços", '"line"'),
        ("uma letra de um campo escrita como \\u", '"\\u006cine"'),
    ):
        text = json.dumps(kit.tap(), separators=(", ", ": ")).replace('"line"', field)
        came = kit.board(kit.device.write(text).exact)
        kit.report.holds(2, name, "200", came, came.status == 200)
