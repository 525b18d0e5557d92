"""The hot state over TLS: a server that proves its name, a client that shows its certificate.

The embedded server speaks no TLS, so a gate in front of it does: the handshake is as real as with a managed Redis.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.validator.conftest import running_service
from tests.validator.seeded_city import SeededCity
from validator.adapters.redis_link import RedisLink, RedisLinkError

pytestmark = pytest.mark.hot_state


def certificate(folder: Path, name: str) -> Path:
    """A certificate that vouches for itself, with its key, in one file."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / f"{name}.pem"
    pem = serialization.Encoding.PEM
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(made.public_bytes(pem) + private)
    return path


@pytest.fixture
def pem(tmp_path: Path) -> Path:
    """The certificate of the server, which it also asks for."""
    return certificate(tmp_path, "city")


@pytest.fixture
async def port(city: SeededCity, pem: Path) -> AsyncIterator[int]:
    """A gate that speaks TLS only, and only with who shows that certificate too."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    context.load_verify_locations(pem)
    context.verify_mode = ssl.CERT_REQUIRED
    context.maximum_version = (
        ssl.TLSVersion.TLSv1_2
    )  # the later one tells a client without a certificate too late
    socket_path = city.redis.connection_pool.connection_kwargs["path"]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_redis, to_redis = await asyncio.open_unix_connection(socket_path)
        await asyncio.gather(pour(reader, to_redis), pour(from_redis, writer))

    async with await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context) as gate:
        yield gate.sockets[0].getsockname()[1]


async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Hand on what comes, until either side closes."""
    try:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


async def test_a_boarding_is_answered_over_tls(city: SeededCity, port: int, pem: Path):
    url = f"rediss://127.0.0.1:{port}/0?ssl_ca_certs={pem}&ssl_certfile={pem}"
    device, card = city.device(), city.student()
    async with running_service(url) as service:
        answer = await service.board(device, device.tap(1, card.medium))

    assert answer.json()["outcome"] == "accepted"
    assert city.usage().used == {"STUDENT": 1}


async def test_a_server_that_nobody_vouches_for_is_not_talked_to(port: int, pem: Path, tmp_path: Path):
    stranger = certificate(tmp_path, "stranger")
    link = RedisLink(f"rediss://127.0.0.1:{port}/0?ssl_ca_certs={stranger}&ssl_certfile={pem}", 5.0)

    with pytest.raises(RedisLinkError, match="CERTIFICATE_VERIFY_FAILED"):
        await link.open()


async def test_a_client_without_the_certificate_that_is_asked_for_is_refused(port: int, pem: Path):
    link = RedisLink(f"rediss://127.0.0.1:{port}/0?ssl_ca_certs={pem}", 5.0)

    with pytest.raises(RedisLinkError):
        await link.open()
