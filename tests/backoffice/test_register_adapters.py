"""Documents, chance and key files."""

import concurrent.futures
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from backoffice.adapters.chance import SystemChance, luhn_digit, with_check_digit
from backoffice.adapters.city_keys import CityKeys, KeyMissing, write_device_key
from backoffice.adapters.documents import DocumentError, masked_cpf, read_cnpj, read_cpf


@pytest.mark.parametrize(
    ("typed", "plain"),
    [
        ("529.982.247-25", "52998224725"),
        (" 529 982 247 25 ", "52998224725"),
        ("00000000191", "00000000191"),
        ("000.000.001-91", "00000000191"),
    ],
)
def test_a_cpf_is_read_with_or_without_mask(typed: str, plain: str):
    assert read_cpf(typed) == plain


@pytest.mark.parametrize(
    ("typed", "plain"),
    [
        ("12.ABC.345/01DE-35", "12ABC34501DE35"),
        ("12.abc.345/01de-35", "12ABC34501DE35"),
        ("11.222.333/0001-81", "11222333000181"),
    ],
)
def test_a_cnpj_may_have_letters(typed: str, plain: str):
    assert read_cnpj(typed) == plain


@pytest.mark.parametrize(
    "typed", ["12.ABC.345/01DE-36", "12ABC34501DE3A", "", "1" * 14, "00.000.000/0000-00", "١" * 14]
)
def test_what_is_no_cnpj_is_refused(typed: str):
    with pytest.raises(DocumentError):
        read_cnpj(typed)


@given(st.text(max_size=20))
def test_any_text_is_read_or_refused(typed: str):
    for read, length in ((read_cpf, 11), (read_cnpj, 14)):
        try:
            assert len(read(typed)) == length
        except DocumentError:
            continue


def test_a_masked_cpf_shows_its_middle_only():
    assert masked_cpf("52998224725") == "***.982.247-**"


@given(st.integers(min_value=0, max_value=10**12))
def test_a_check_digit_makes_the_luhn_sum_whole(number: int):
    digits = [int(digit) for digit in str(with_check_digit(number))]
    doubled = [digit if place % 2 == 0 else digit * 2 for place, digit in enumerate(reversed(digits))]

    assert sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


def test_the_check_digit_of_the_textbook():
    assert luhn_digit(7992739871) == 3


def test_draws_have_the_form_that_the_records_need():
    chance = SystemChance()

    numbers = {chance.card_number() for _ in range(200)}
    assert len(numbers) > 190
    assert all(10**11 <= number < 10**12 and number % 10 == luhn_digit(number // 10) for number in numbers)
    assert len(bytes.fromhex(chance.hot_id())) == 8
    assert len(chance.secret()) == 43


def test_a_key_is_made_once_and_only_its_owner_may_read_it(tmp_path: Path):
    keys = CityKeys(tmp_path / "keys")

    public = keys.create(1)

    assert CityKeys(tmp_path / "keys").create(1) == public
    Ed25519PublicKey.from_public_bytes(public).verify(keys.sign(1, b"x"), b"x")
    assert [path.name for path in (tmp_path / "keys").iterdir()] == ["city-1.key"]
    assert (tmp_path / "keys" / "city-1.key").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "keys").stat().st_mode & 0o777 == 0o700


def test_processes_that_make_a_key_at_once_have_the_same(tmp_path: Path):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        made = set(pool.map(lambda _: CityKeys(tmp_path).create(1), range(8)))

    assert len(made) == 1


def test_a_key_file_that_is_missing_or_spoilt_says_what_to_do(tmp_path: Path):
    with pytest.raises(KeyMissing, match="cópia de segurança"):
        CityKeys(tmp_path).sign(1, b"x")
    (tmp_path / "city-1.key").write_text("spoilt")
    with pytest.raises(KeyMissing, match="não contém uma chave"):
        CityKeys(tmp_path).create(1)
    other = generate_private_key(SECP256R1()).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (tmp_path / "city-1.key").write_bytes(other)
    with pytest.raises(KeyMissing, match="não é Ed25519"):
        CityKeys(tmp_path).sign(1, b"x")


def test_a_device_key_never_overwrites_a_file(tmp_path: Path):
    assert len(write_device_key(tmp_path / "v.key")) == 32
    with pytest.raises(FileExistsError):
        write_device_key(tmp_path / "v.key")
