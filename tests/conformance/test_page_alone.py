"""The kit is a second implementation: it imports nothing of the first, and agrees with the golden values."""

import ast
import base64
import hashlib
import json
import sys
import zlib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

import backoffice.conformance
from backoffice.cli import main
from backoffice.conformance.device import Device, KeyUnreadable, chain_start, digest_of, read_key, signed_head
from backoffice.conformance.packed import NotPacked, unpack
from backoffice.conformance.run import golden_bytes

FOLDER = Path(backoffice.conformance.__file__).parent
GOLDEN: dict[str, Any] = json.loads(golden_bytes())
KEY = Ed25519PrivateKey.from_private_bytes(bytes.fromhex(GOLDEN["device_private_key"]))
MAY_IMPORT = sys.stdlib_module_names | {"cryptography", "httpx2"}

PACKED = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False)
    | st.text(max_size=300) | st.binary(max_size=300),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=5), inner, max_size=20),
    max_leaves=30,
)  # fmt: skip


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names.add(node.module or "")
    return names


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_it_imports_nothing_of_the_product(path: Path):
    foreign = {
        name
        for name in imported(path)
        if name.split(".")[0] not in MAY_IMPORT and not name.startswith("backoffice.conformance.")
    }

    assert foreign == set()


def test_its_chain_and_batch_are_the_golden_ones(tmp_path: Path):
    device = Device(f"{GOLDEN['device_id']}.secret", KEY, GOLDEN["epoch"], tmp_path / "journal")
    assert device.head(0).hex() == GOLDEN["chain"]["start"] == chain_start(device.id, 1).hex()
    for row in GOLDEN["chain"]["entries"]:
        entry = device.write(row["entry"])
        assert digest_of(device.id, entry.exact).hex() == row["digest"]
        assert device.head(entry.seq).hex() == row["head"]
    closing = {"signature": device.sign(4, device.head(4), closing=True), "closing": True}

    assert signed_head(device.id, 1, 4, device.head(4), closing=True).hex() == GOLDEN["chain"]["signed"]
    assert json.loads(device.batch(1, **closing)) == GOLDEN["chain"]["batch"]
    device.close()


def test_its_reader_of_bundles_reads_the_golden_one():
    answer, chunks = GOLDEN["bundle"]["answer"], GOLDEN["bundle"]["chunks"]
    (step,) = json.loads(answer["offer"])["steps"]
    data = b"".join(bytes.fromhex(chunks[digest]) for digest in step["chunks"])
    assert [hashlib.sha256(bytes.fromhex(chunks[name])).hexdigest() for name in step["chunks"]] == step[
        "chunks"
    ]

    raw = zlib.decompress(data)
    city, shared, *_ = unpack(raw[1:])

    assert unpack(raw[1:]) == msgspec.msgpack.decode(raw[1:])
    assert unpack(city[9:])[5][0][:2] == [1, bytes.fromhex(GOLDEN["city_public_key"])]
    assert shared[3] == 400


def test_the_golden_card_has_its_only_text():
    raw = base64.b32decode(GOLDEN["card"]["text"] + "====")

    assert base64.b32encode(raw).decode().rstrip("=") == GOLDEN["card"]["text"]


@given(value=PACKED)
def test_its_messagepack_is_that_of_a_library(value: Any):
    assert unpack(msgspec.msgpack.encode(value)) == value


@given(raw=st.binary(max_size=40))
def test_whatever_stands_there_is_read_or_refused(raw: bytes):
    try:
        unpack(raw)
    except NotPacked:
        pass


def test_the_journal_goes_on_after_a_cut(tmp_path: Path):
    """A line without its end was never sent; its number is free."""
    journal = tmp_path / "journal"
    first = Device("v.s", KEY, 1, journal)
    first.write('{"a":1}')
    first.write("ção")
    first.close()
    journal.write_bytes(journal.read_bytes() + b'{"cut')

    again = Device("v.s", KEY, 1, journal)
    entry = again.write('{"b":2}')

    assert (entry.seq, again.head(2)) == (3, first.head(2))
    assert journal.read_bytes() == '{"a":1}\nção\n{"b":2}\n'.encode()
    again.close()


def test_a_file_without_a_key_is_refused(tmp_path: Path):
    for content in (b"", b"-----BEGIN PRIVATE KEY-----\n", b"zz" * 32):
        file = tmp_path / "key"
        file.write_bytes(content)
        with pytest.raises(KeyUnreadable):
            read_key(file)


def test_the_golden_file_is_written_byte_for_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = tmp_path / "golden.json"
    monkeypatch.setattr("sys.argv", ["catraca", "conformance", "--golden", str(file)])
    with pytest.raises(SystemExit) as ended:
        main()

    assert not ended.value.code
    assert file.read_bytes() == golden_bytes() == (FOLDER / "device-protocol.json").read_bytes()
