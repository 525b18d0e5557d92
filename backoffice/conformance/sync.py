"""Section 12: the bundle. Its signature, its chunks and its form; and the service's clock and lines on the way."""

import hashlib
import json
import re
import zlib
from collections.abc import Callable
from datetime import datetime
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from backoffice.conformance.kit import CannotGoOn, Kit
from backoffice.conformance.link import Answer
from backoffice.conformance.packed import NotPacked, unpack

CHUNK_BYTES = 16_384
_NETWORKS = (0, 1)


def check_sync(kit: Kit, set_clock: Callable[[datetime], None]) -> None:
    """Fetch the whole bundle; the kit takes a line and a vehicle from it where it was told none.

    Raises:
        CannotGoOn: the token is unknown.
    """
    came = kit.link.get("/v1/sync?have=0")
    if came.status == 401:
        raise CannotGoOn("o serviço não conhece este token; confira --device-token")
    if came.status == 503 and came.body.get("type", "").endswith("bundle-missing"):
        kit.is_problem(12, "nenhum pacote ainda", came, 503, "bundle-missing")
        kit.report.skip(12, "pacote, assinatura e pedaços", "catraca bundle ainda não montou nenhum")
        return
    offer = _offer(kit, came)
    if offer is None:
        return
    set_clock(datetime.fromisoformat(came.body["server_time"]))
    steps = [_step(kit, step) for step in offer["steps"]]
    city = _form(kit, steps[-1]) if steps and steps[-1] is not None else None
    _signature(kit, came, offer, city)
    _asked_again(kit, offer)
    if city is not None:
        _choose_line(kit, city)


def _offer(kit: Kit, came: Answer) -> dict[str, Any] | None:
    """The offer's text as an object, if all of it has its form."""
    body = came.body
    try:
        offer = json.loads(body.get("offer", ""))
        held = (
            came.status == 200
            and type(body.get("key_id")) is int
            and re.fullmatch("[0-9a-f]{128}", body.get("signature", "")) is not None
            and datetime.fromisoformat(body.get("server_time", "")).tzinfo is not None
            and datetime.fromisoformat(offer["issued_at"]).tzinfo is not None
            and (type(offer["version"]), offer["have"], type(offer["max_age_hours"])) == (int, 0, int)
            and len(offer["steps"]) >= 1
            and (offer["steps"][0]["from"], offer["steps"][-1]["to"]) == (0, offer["version"])
        )
    except (ValueError, TypeError, KeyError, IndexError):
        held, offer = False, None
    kit.report.holds(12, "oferta do pacote inteiro", "200 com os campos da página", came, held)
    return offer if held else None


def _step(kit: Kit, step: dict[str, Any]) -> bytes | None:
    """The inflated bytes of a step, if every chunk is what its name says."""
    pieces: list[bytes] = []
    wrong: list[str] = []
    for digest in step["chunks"]:
        came = kit.link.get(f"/v1/sync/chunks/{digest}")
        if came.status != 200 or hashlib.sha256(came.raw).hexdigest() != digest:
            wrong.append(f"{digest}: {came.status}, {len(came.raw)} bytes")
        pieces.append(came.raw)
    name = f"pedaços de {step['from']} a {step['to']}"
    kit.report.holds(12, name, f"{len(pieces)}, cada um com o SHA-256 do seu nome", wrong, not wrong)
    sizes = [len(piece) for piece in pieces]
    held = all(size == CHUNK_BYTES for size in sizes[:-1]) and sum(sizes) == step["bytes"]
    kit.report.holds(12, f"{name}: tamanhos", f"16.384 bytes cada, {step['bytes']} ao todo", sizes, held)
    try:
        raw = zlib.decompress(b"".join(pieces))
    except zlib.error as error:
        kit.report.holds(12, f"{name}: zlib", "bytes que se expandem", error, False)
        return None
    held = raw[:1] == b"\x01"
    kit.report.holds(12, f"{name}: zlib e versão", "bytes que se expandem, o primeiro 01", raw[:1], held)
    return raw if held else None


def _form(kit: Kit, raw: bytes) -> list[Any] | None:
    """The city of a whole step, if the step has its form."""
    try:
        city, shared, hot, cold, entries, gone = unpack(raw[1:])[:6]
        kinds, tariffs, purse_hours, half_budget = shared[:4]
        held = (
            all(type(part) is list for part in (kinds, tariffs, purse_hours, hot, cold, entries, gone))
            and type(half_budget) is int
            and (cold, gone) == ([], [])
            and all(len(card) >= 3 and type(card[2]) is bool for card in hot)
            and all(len(kind) >= 5 for kind in kinds)
            and all(len(hot_id) == 8 and entry[:1] == b"\x01" for hot_id, entry in entries)
            and all(_is_entry(unpack(entry[1:]), len(kinds), len(tariffs)) for _, entry in entries)
            and city[:1] == b"\x01"
            and int.from_bytes(city[1:9], "big") > 0
        )
        parts: list[Any] = unpack(city[9:])
        law, fares, lines, vehicles, breakdowns, keys = parts[:6]
        held = held and isinstance(json.loads(law), dict)
        held = held and all(type(part) is list for part in (fares, lines, vehicles, breakdowns, keys))
        held = held and all(line[1] in _NETWORKS and type(line[2]) is list for line in lines)
    except (NotPacked, ValueError, TypeError, IndexError) as error:
        kit.report.holds(12, "forma do pacote", "os lugares da página", repr(error), False)
        return None
    told = f"{len(entries)} titulares, {len(lines)} linhas, {len(keys)} chaves"
    kit.report.holds(12, "forma do pacote", "os lugares da página", told, held)
    return parts if held else None


def _is_entry(entry: list[Any], kinds: int, tariffs: int) -> bool:
    options, purses, half_month, half_count = entry[:4]
    return (
        all(0 <= option[0] < kinds for option in options)
        and all(0 <= code <= 5 and all(0 <= lot[0] < tariffs for lot in lots) for code, lots in purses)
        and type(half_month) is int
        and type(half_count) is int
    )


def _signature(kit: Kit, came: Answer, offer: dict[str, Any], city: list[Any] | None) -> None:
    """By a key told at installation where one was given, else by one that the bundle itself names."""
    body, keys = came.body, dict(kit.city_keys)
    source = "chave dada com --city-key"
    if not keys:
        source = "chave que o próprio pacote traz; prove a origem com --city-key"
        issued = datetime.fromisoformat(offer["issued_at"]).timestamp() * 1_000_000
        told = [key[:3] for key in city[5]] if city else []
        keys = {number: public for number, public, until in told if until is None or until > issued}
    public = keys.get(body["key_id"])
    signed = b"catraca-bundle-1\x00" + body["offer"].encode()
    held = public is not None and _verifies(public, bytes.fromhex(body["signature"]), signed)
    kit.report.holds(12, "assinatura da oferta", f"Ed25519 da cidade ({source})", body["key_id"], held)


def _verifies(public_key: bytes, signature: bytes, signed: bytes) -> bool:
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, signed)
    except (InvalidSignature, ValueError):
        return False
    return True


def _asked_again(kit: Kit, offer: dict[str, Any]) -> None:
    for name, have in (
        ("quem tem a versão vigente", offer["version"]),
        ("uma versão que ninguém conhece", 1),
    ):
        came = kit.link.get(f"/v1/sync?have={have}")
        try:
            again = json.loads(came.body.get("offer", ""))
        except ValueError:
            again = {}
        held = again.get("version", 0) >= offer["version"] and again.get("have") in (0, have)
        if have == 1:
            held = held and again.get("have") == 0
        kit.report.holds(12, f"oferta para {name}", f"versão {offer['version']}", came, held)
    came = kit.link.get(f"/v1/sync/chunks/{'0' * 64}")
    kit.is_problem(12, "pedaço que nenhum pacote tem", came, 404, "chunk-unknown")
    english = kit.link.get(f"/v1/sync/chunks/{'0' * 64}", accept_language="en")
    held = english.body.get("detail") != came.body.get("detail")
    kit.report.holds(9, "o mesmo problema em inglês", "outro detail", english, held)


def _choose_line(kit: Kit, city: list[Any]) -> None:
    """An urban line, and a vehicle of an operator that runs it."""
    lines, vehicles = city[2], city[3]
    for code, _, operators in sorted(
        (line[:3] for line in lines), key=lambda line: (line[1], line[0] != kit.line)
    ):
        for number, operator in (vehicle[:2] for vehicle in vehicles):
            if operator in operators and kit.line in ("", code) and kit.vehicle in ("", number):
                kit.line, kit.vehicle = code, number
                return
