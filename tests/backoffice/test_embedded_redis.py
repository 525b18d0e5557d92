"""The embedded Redis server starts, is found again, survives, and says what is wrong."""

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import redis

from backoffice.adapters.embedded_redis import EmbeddedRedis, EmbeddedRedisError, RedisServerMissing
from tests.servers import redis_binary

pytestmark = pytest.mark.hot_state


@pytest.fixture
def data_dir(tmp_path: Path):
    folder = tmp_path / "dados do município"
    yield folder
    EmbeddedRedis(folder).kill()


def server_on(data_dir: Path) -> EmbeddedRedis:
    return EmbeddedRedis(data_dir, binary=redis_binary())


def client_of(server: EmbeddedRedis) -> redis.Redis:
    return redis.Redis.from_url(server.url, decode_responses=True)


def test_the_server_never_evicts_and_keeps_a_file(data_dir: Path):
    with server_on(data_dir) as server, client_of(server) as client:
        settings = client.config_get("maxmemory-policy", "appendonly", "appendfsync", "port")

    assert settings == {
        "maxmemory-policy": "noeviction",
        "appendonly": "yes",
        "appendfsync": "everysec",
        "port": "0",
    }


def test_what_was_acknowledged_survives_a_kill_and_a_stop(data_dir: Path):
    server = server_on(data_dir)
    server.start()
    with client_of(server) as client:
        client.set("{s1}:first", "1")
    server.kill()
    server.start()
    with client_of(server) as client:
        client.set("{s1}:second", "2")
    server.stop()

    with server_on(data_dir) as again, client_of(again) as client:
        assert client.mget("{s1}:first", "{s1}:second") == ["1", "2"]


def test_a_second_start_finds_the_running_server_and_leaves_it_running(data_dir: Path):
    with server_on(data_dir) as first:
        second = server_on(data_dir)
        url = second.start()
        second.stop()

        assert (url, second.pid, second.owned) == (first.url, first.pid, False)
        with client_of(first) as client:
            assert client.ping()


def test_of_many_starts_at_once_one_starts_a_server(data_dir: Path):
    servers = [server_on(data_dir) for _ in range(6)]
    with ThreadPoolExecutor(len(servers)) as pool:
        urls = set(pool.map(EmbeddedRedis.start, servers))

    assert len(urls) == 1
    assert sum(server.owned for server in servers) == 1
    for server in servers:
        server.stop()


def test_a_server_outlives_a_killed_parent_and_is_found_again(data_dir: Path):
    starter = f"""
import os, signal
from pathlib import Path
from backoffice.adapters.embedded_redis import EmbeddedRedis
EmbeddedRedis(Path({os.fspath(data_dir)!r}), binary=Path({os.fspath(redis_binary())!r})).start()
os.kill(os.getpid(), signal.SIGKILL)
"""
    ended = subprocess.run([sys.executable, "-c", starter], check=False, timeout=30)
    server = server_on(data_dir)
    server.start()

    assert ended.returncode == -signal.SIGKILL
    assert not server.owned
    server.kill()
    assert server.pid is None


def test_a_server_that_died_by_itself_is_started_again(data_dir: Path):
    server = server_on(data_dir)
    server.start()
    first_pid = server.pid
    assert first_pid is not None
    os.kill(first_pid, signal.SIGKILL)
    server.start()

    assert server.owned
    assert server.pid != first_pid
    server.stop()
    assert server.pid is None


def test_a_path_too_long_for_a_socket_is_no_obstacle(data_dir: Path):
    with server_on(data_dir / ("x" * 100)) as server, client_of(server) as client:
        assert client.ping()
        assert (server.folder / "appendonlydir").is_dir()


def test_a_broken_file_is_an_error_that_shows_the_servers_log(data_dir: Path):
    server = server_on(data_dir)
    server.start()
    server.stop()
    for manifest in (server.folder / "appendonlydir").glob("*.manifest"):
        manifest.write_text("this is no manifest\n")

    with pytest.raises(EmbeddedRedisError, match=r"Its log says:\n(.*\n)*.*manifest"):
        server.start()


def test_a_missing_program_is_named(data_dir: Path):
    with pytest.raises(RedisServerMissing, match="no-such-server"):
        EmbeddedRedis(data_dir, binary=Path("no-such-server")).start()
