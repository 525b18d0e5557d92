"""The QR of a card: what is printed is the token, whole, and whoever has no token gets no picture."""

import io
import stat
import struct
import zlib
from pathlib import Path
from xml.etree import ElementTree

import pytest
import segno
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from backoffice.adapters.card_qr import MODULE_MM, card_qr
from backoffice.cli import main
from validator.records.card_token import CardToken

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
UNSIGNED = CardToken(1, "00f1e2d3c4b5a697", 10_000_000_016, 1)
TEXT = CardToken(1, UNSIGNED.holder_id, UNSIGNED.card_number, 1, KEY.sign(UNSIGNED.signed_bytes())).text()
MATRIX = segno.make(TEXT, error="m", boost_error=False, micro=False).matrix
QUIET = 4


def catraca(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["catraca", "card", "qr", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    file = tmp_path / "card.txt"
    file.write_text(TEXT + "\n")
    return file


def modules_of_png(data: bytes, pixels: int) -> list[list[bool]]:
    """Dark modules of a picture with one bit a pixel, without its quiet zone."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    width, height, depth, colour = struct.unpack(">IIBB", data[16:26])
    assert (width, depth) == (height, 1)
    packed, at, dark_is = b"", 8, 0
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        kind, chunk = data[at + 4 : at + 8], data[at + 8 : at + 8 + length]
        packed += chunk if kind == b"IDAT" else b""
        if kind == b"PLTE" and colour == 3:
            dark_is = 0 if chunk[:3] == b"\x00\x00\x00" else 1
        at += 12 + length
    raw, stride = zlib.decompress(packed), 1 + -(-width // 8)
    rows: list[bytes] = []
    for start in range(0, len(raw), stride):
        how, line = raw[start], raw[start + 1 : start + stride]
        assert how in (0, 2)  # as it is, or what it adds to the line above
        above = rows[-1] if how == 2 else bytes(len(line))
        rows.append(bytes((new + old) % 256 for new, old in zip(line, above, strict=True)))
    count = width // pixels - 2 * QUIET

    def dark(row: int, column: int) -> bool:
        return (rows[row][column // 8] >> (7 - column % 8) & 1) == dark_is

    middle = pixels // 2
    return [
        [dark((QUIET + y) * pixels + middle, (QUIET + x) * pixels + middle) for x in range(count)]
        for y in range(count)
    ]


def test_the_png_shows_the_token_module_for_module(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, token_file: Path, capsys: pytest.CaptureFixture[str]
):
    picture = tmp_path / "card.png"

    assert catraca(monkeypatch, "--token", str(token_file), "--out", str(picture)) == 0

    assert modules_of_png(picture.read_bytes(), 10) == [[bool(cell) for cell in row] for row in MATRIX]
    assert f"{len(MATRIX)} × {len(MATRIX)} módulos" in capsys.readouterr().out


def test_the_svg_has_its_size_in_millimetres_and_the_token_from_standard_input(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    picture = tmp_path / "card.SVG"
    monkeypatch.setattr("sys.stdin", io.StringIO(f"  {TEXT}\n"))

    assert catraca(monkeypatch, "--token-stdin", "--out", str(picture)) == 0

    root = ElementTree.fromstring(picture.read_text())
    side = (len(MATRIX) + 2 * QUIET) * MODULE_MM
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.get("width") == root.get("height")
    assert float(root.get("width", "").removesuffix("mm")) == pytest.approx(side)
    assert side <= 54  # the height of an ISO card
    assert stat.S_IMODE(picture.stat().st_mode) == 0o600


def test_the_code_is_alphanumeric_at_level_m():
    code = card_qr(TEXT)

    assert (code.error, code.mode, code.matrix) == ("M", "alphanumeric", MATRIX)


@pytest.mark.parametrize("text", ["", "AEAACAHR", TEXT.lower(), TEXT[:-1] + "R", f"{TEXT}\n{TEXT}"])
def test_what_is_no_token_is_not_drawn(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr("sys.stdin", io.StringIO(text))

    assert catraca(monkeypatch, "--token-stdin", "--out", str(tmp_path / "card.png")) == 1

    assert "não é o código de um cartão" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_what_is_missing_or_in_the_way_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, token_file: Path, capsys: pytest.CaptureFixture[str]
):
    there = tmp_path / "there.png"
    there.write_bytes(b"")
    for arguments, says in (
        (["--out", "card.png"], "--token"),
        (["--token", str(token_file), "--token-stdin", "--out", "card.png"], "--token"),
        (["--token", str(token_file), "--out", str(tmp_path / "card.pdf")], ".svg"),
        (["--token", str(token_file), "--out", str(there)], "já existe"),
        (["--token", str(tmp_path / "none"), "--out", "card.png"], "não existe"),
    ):
        assert catraca(monkeypatch, *arguments) == 1
        assert says in capsys.readouterr().err
