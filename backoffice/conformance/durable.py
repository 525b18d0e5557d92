"""Section 7: what is kept, what is sent again, and what the service says of it."""

from backoffice.conformance.batches import MOST_ENTRIES, takes
from backoffice.conformance.kit import Kit, items_of


def check_durable(kit: Kit) -> None:
    """Send the whole journal again, under a signed head; then wait until the register has it."""
    first = kit.durable + 1
    for start in range(first, kit.device.next_seq, MOST_ENTRIES):
        end = min(start + MOST_ENTRIES - 1, kit.device.last_seq)
        came = kit.upload(kit.device.batch(start, end))
        takes(kit, 7, f"o diário de {start} a {end} enviado de novo", came, start, end - start + 1)
    if kit.wait_s:
        if _wait(kit):
            _unknown(kit)
    else:
        kit.report.skip(7, "durable_seq alcança o diário", "com --wait 0 não se espera o registro")
    kit.report.holds(
        7,
        "durable_seq e missing em toda resposta 200",
        "durable_seq inteiro que nunca diminui, missing em faixas",
        kit.durable_faults[:5],
        not kit.durable_faults,
    )


def _unknown(kit: Kit) -> None:
    """Once all before it is durable, a release of a boarding that nobody knows is no longer waited for."""
    release = kit.write_release(kit.boarding_id())
    came = kit.upload(kit.device.batch(release.seq))
    takes(kit, 5, "liberação de um embarque que ninguém conhece", came, release.seq, 1)
    held = all("verdict" not in item for item in items_of(came))
    kit.report.holds(5, "e o seu veredicto", "sem verdict", came, held)


def _wait(kit: Kit) -> bool:
    """A head alone asks what is durable; whether all of the journal is."""
    waited, last = 0.0, kit.device.last_seq
    while True:
        came = kit.upload(kit.device.batch(kit.device.next_seq))
        done = kit.durable >= last and came.body.get("missing") == []
        if done or waited >= kit.wait_s:
            break
        kit.link.pause(0.5)
        waited += 0.5
    return kit.report.holds(
        7, "durable_seq alcança o diário", f"{last} em {kit.wait_s:g} s, missing [] (a ingestão está rodando?)",
        came, done,
    )  # fmt: skip
