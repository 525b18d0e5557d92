"""Section 6: the turnstile did not turn."""

from backoffice.conformance.device import spell
from backoffice.conformance.kit import Kit
from backoffice.conformance.link import Answer

_FIELDS = {
    "boarding_id": str,
    "outcome": str,
    "display": str,
    "message": str,
    "durable_seq": int,
    "missing": list,
}


def check_annulments(kit: Kit) -> None:
    """In time, again, too late, of a rider who was held, of another boarding than the address names."""
    boarding = _boarded(kit)
    entry = kit.write_annulment(boarding)
    first = kit.annul(boarding, entry.exact)
    _says(kit, "dentro de 60 segundos", first, boarding, "annulled")
    again = kit.annul(boarding, entry.exact)
    durable = again.body.get("durable_seq")
    passed = isinstance(durable, int) and durable >= entry.seq
    told = "recorded" if passed and again.body.get("outcome") == "recorded" else "annulled"
    _says(kit, "os mesmos bytes de novo", again, boarding, told)

    late = _boarded(kit)
    entry = kit.write_annulment(late, after_s=90)
    _says(kit, "depois de 60 segundos do relógio do validador", kit.annul(late, entry.exact), late, "refused")
    before = _boarded(kit)
    entry = kit.write_annulment(before, after_s=-30)
    _says(kit, "antes do embarque", kit.annul(before, entry.exact), before, "refused")

    held, tap = kit.write_tap(medium={"kind": "card", "token": "???"})
    kit.board(tap.exact)
    release = kit.write_release(held, released=False)
    kit.upload(kit.device.batch(release.seq))
    entry = kit.write_annulment(held)
    _says(kit, "de quem foi recusado e retido", kit.annul(held, entry.exact), held, "refused")

    other = kit.boarding_id()
    raw = spell(
        {
            "epoch": kit.device.epoch,
            "device_seq": kit.device.next_seq,
            "occurred_at": kit.tap()["occurred_at"],
            "annuls": boarding,
        }
    )
    kit.is_problem(6, "annuls de outro embarque que o endereço", kit.annul(other, raw), 422, "malformed")
    came = kit.annul("ontem", raw)
    kit.is_problem(6, "endereço que não é UUID", came, 422, "malformed")
    came = kit.annul(boarding, raw[:-1] + b',"motivo":1}')
    kit.is_problem(6, "campo desconhecido", came, 422, "malformed")


def _boarded(kit: Kit) -> str:
    boarding, entry = kit.write_tap()
    kit.board(entry.exact)
    return boarding


def _says(kit: Kit, clause: str, came: Answer, boarding: str, outcome: str) -> None:
    body = came.body
    held = (
        came.status == 200
        and all(type(body.get(name)) is kind for name, kind in _FIELDS.items())
        and (body["boarding_id"], body["outcome"]) == (boarding, outcome)
        and len(body["display"]) <= 20
    )
    kit.report.holds(6, f"anulação {clause}", f"200 {outcome}", came, held)
