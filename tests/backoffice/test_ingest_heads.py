"""Signed heads: what they cover, and those that are not believed."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import Engine, select

from backoffice.application.ingest import Ingester
from backoffice.persistence.base import reading, writing
from backoffice.persistence.devices import DeviceKeyRow, DeviceRow
from backoffice.persistence.journal import (
    DeviceEpochRow,
    SignedHeadRow,
)
from backoffice.persistence.operators import OperatorKind, OperatorRow
from tests.backoffice.journal_play import (
    DEVICE_KEY,
    NOW,
    SmallValidator,
    boarding,
    head,
    ingest_all,
)
from validator.records.journal import pack_entry

HOLDER = "00000000000000aa"

pytestmark = pytest.mark.hot_state


def register_device(engine: Engine, device: str) -> None:
    """A device with its key; it is the first operator's."""
    with writing(engine) as session:
        if session.get(OperatorRow, 1) is None:
            kind = OperatorKind.COMPANY
            session.add(
                OperatorRow(id=1, code="azul", name="Azul", kind=kind, recorded_at=NOW, document=None)
            )
        session.flush()
        session.add(DeviceRow(id=device, operator_id=1, revision=1, published_revision=0, recorded_at=NOW))
        session.flush()
        session.add(
            DeviceKeyRow(
                device_id=device,
                epoch=1,
                token_sha256="0" * 64,
                public_key=DEVICE_KEY.public_key().public_bytes_raw(),
                valid_from=NOW,
                recorded_at=NOW,
                revision=1,
            )
        )


def test_a_valid_head_covers_what_a_broken_one_does_not(
    engine: Engine, ingester: Ingester, bus: SmallValidator
) -> None:
    register_device(engine, "v-1")
    taps = [boarding("v-1", seq) for seq in range(1, 7)]
    digests = [tap.digest for tap in taps]
    signed_early = head("v-1", digests[:4])
    bus.journal(0, pack_entry(signed_early))
    for tap in taps:
        bus.commit(tap)
    forged = head("v-1", [*digests[:4], b"\x00" * 32, digests[5]])
    bus.journal(0, pack_entry(forged))
    ingest_all(ingester)

    with reading(engine) as session:
        verdicts = dict(session.execute(select(SignedHeadRow.seq, SignedHeadRow.verdict)).all())
        state = session.get_one(DeviceEpochRow, ("v-1", 1))
        assert verdicts == {4: "VALID", 6: "BROKEN"}
        assert (state.covered_seq, state.broken, state.closed) == (4, True, False)

    bus.journal(0, pack_entry(head("v-1", digests, closing=True)))
    ingest_all(ingester)
    with reading(engine) as session:
        state = session.get_one(DeviceEpochRow, ("v-1", 1))
        assert (state.covered_seq, state.broken, state.closed) == (6, True, True)


def test_a_head_signed_by_another_key_covers_nothing(
    engine: Engine, ingester: Ingester, bus: SmallValidator
) -> None:
    register_device(engine, "v-1")
    tap = boarding("v-1", 1)
    bus.commit(tap)
    stranger = Ed25519PrivateKey.from_private_bytes(b"\x01" * 32)
    bus.journal(0, pack_entry(head("v-1", [tap.digest], key=stranger)))
    ingest_all(ingester)
    with reading(engine) as session:
        assert session.scalars(select(SignedHeadRow.verdict)).all() == ["BAD_SIGNATURE"]
        epoch = session.get_one(DeviceEpochRow, ("v-1", 1))
        assert (epoch.covered_seq, epoch.broken) == (0, False)
