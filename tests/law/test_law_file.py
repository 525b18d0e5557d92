"""The rule table comes from the package or from a file; errors name file, and line or row."""

from pathlib import Path

import pytest

from backoffice.adapters.law_file import law_from, packaged_law
from tests.law.laws import BOOK, law_text
from validator.domain.rules import LawError


def test_the_package_carries_the_law_of_pato_branco():
    assert packaged_law() == BOOK
    assert law_from(None).version == BOOK.version


def test_a_copy_of_the_law_is_the_same_law(tmp_path: Path):
    path = tmp_path / "law.toml"
    path.write_text(law_text(), encoding="utf-8")

    assert law_from(path) == BOOK


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[law]\nname = \n", "at line 2"),
        (b"[law]\nname = 'a'\nname = 'b'\n", "at line 3"),
        ("[law]\nname = 'São João'\n".encode("latin-1"), "line 2 is not UTF-8"),
        (b"\xef\xbb\xbf[law]\n", "byte order mark"),
        (b"[law]\n", "no [[rule]] rows"),
        (b"[[rule]]\nid = 'A'\n", "rule A: networks is a list"),
        (law_text().replace('category = "VT"', 'category = "PCD"').encode(), "rule VT-1991: category 'PCD'"),
    ],
)
def test_a_broken_file_names_itself_and_the_place(tmp_path: Path, content: bytes, message: str):
    path = tmp_path / "city.toml"
    path.write_bytes(content)

    with pytest.raises(LawError, match=r"city\.toml: ") as caught:
        law_from(path)

    assert message in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path):
    with pytest.raises(LawError, match=r"nowhere\.toml: cannot be read"):
        law_from(tmp_path / "nowhere.toml")
    with pytest.raises(LawError, match="cannot be read"):
        law_from(tmp_path)
