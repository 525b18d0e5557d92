"""Commands that run the processes of the product: one each, or all of them on one machine."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
import uvicorn
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from backoffice.adapters.embedded_redis import EmbeddedRedis, EmbeddedRedisError
from backoffice.application.ingest import rebuild_all, run_ingest
from backoffice.application.publish import run_publish
from backoffice.bootstrap import build, configure_logs, create_app, law_of, reserve_database
from backoffice.cli.console import err, out
from backoffice.persistence.base import make_engine
from backoffice.persistence.migrate import migrate as migrate_tables
from backoffice.settings import Settings

_STOP_S = 30.0
_POLL_S = 0.2
_REDIS_LOOK_S = 1.0
_OPTIONS = {"bundle": ("--every", "300")}
"""Options of a process that `up` starts: lists on board are at most so many seconds older than the register."""


def add_to(app: typer.Typer) -> None:
    """Add the commands of this module."""
    for command in (up, validator, backoffice, ingest, publish, migrate):
        app.command()(command)


def up() -> None:
    """Roda tudo nesta máquina: Redis, publicação, ingestão, embarques e retaguarda. Ctrl-C encerra."""
    settings = Settings()
    build(settings).engine.dispose()  # the tables are there before the processes ask for them
    with redis_of(settings) as redis_url, stopping() as stop:
        environment = {
            **os.environ,
            "CATRACA_REDIS_URL": redis_url,
            "CATRACA_DATA_DIR": str(settings.data_dir.absolute()),
        }
        children: dict[str, subprocess.Popen[bytes]] = {}
        try:
            for name in ("publish", "ingest", "bundle", "validator", "backoffice"):
                children[name] = subprocess.Popen(
                    [sys.executable, "-m", "backoffice.cli", name, *_OPTIONS.get(name, ())],
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    start_new_session=True,  # Ctrl-C reaches this process alone, which ends the others in order
                )
            out.print(f"embarques:  http://{settings.validator_host}:{settings.validator_port}/openapi.json")
            out.print(f"retaguarda: http://{settings.backoffice_host}:{settings.backoffice_port}/docs")
            out.print(f"dados:      {settings.data_dir.absolute()}  (Ctrl-C encerra)")
            ended = _wait_for_end(children, stop)
        finally:
            _end(children)
    if ended is not None:
        err.print(f"erro: o processo {ended} terminou sozinho; veja as linhas de log acima")
        raise typer.Exit(1)


def validator(
    host: Annotated[str | None, typer.Option(help="Onde escutar; vazio: CATRACA_VALIDATOR_HOST.")] = None,
    port: Annotated[int | None, typer.Option(help="Porta; vazio: CATRACA_VALIDATOR_PORT.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, max=64, help="Quantos processos.")] = None,
) -> None:
    """Roda o serviço de embarques: vários processos em uma porta."""
    settings = Settings()
    port = settings.validator_port if port is None else port
    command = [sys.executable, "-m", "validator.serve", "--host", host or settings.validator_host]
    command += ["--port", str(port), "--workers", str(workers or settings.validator_workers)]
    _serve_boardings(settings, command)


def backoffice(
    host: Annotated[str | None, typer.Option(help="Onde escutar; vazio: CATRACA_BACKOFFICE_HOST.")] = None,
    port: Annotated[int | None, typer.Option(help="Porta; vazio: CATRACA_BACKOFFICE_PORT.")] = None,
) -> None:
    """Roda a API da retaguarda."""
    settings = Settings()
    office = create_app()  # a database that is missing or outdated is said here, in one line
    configure_logs(settings)
    uvicorn.run(
        office,
        host=host or settings.backoffice_host,
        port=settings.backoffice_port if port is None else port,
        log_config=None,
        access_log=False,
        ws="none",  # nothing here speaks it, and a refusal would log the whole address
        server_header=False,
    )


def ingest() -> None:
    """Roda a ingestão: do diário no Redis para o banco de dados."""
    settings = Settings()
    configure_logs(settings)
    office = build(settings)
    with redis_of(settings) as redis_url, stopping() as stop:
        run_ingest(office.engine, redis_url, law_of(settings), office.clock, stop)
    office.engine.dispose()


def publish(
    rebuild: Annotated[
        bool, typer.Option("--rebuild", help="Refaz todo o estado do Redis a partir do banco e termina.")
    ] = False,
) -> None:
    """Roda a publicação: do banco de dados para o Redis."""
    settings = Settings()
    configure_logs(settings)
    office = build(settings)
    law = law_of(settings)
    with redis_of(settings) as redis_url:
        if rebuild:
            with progress_bar("reconstruindo") as advance:
                rebuild_all(office.engine, redis_url, law, office.clock, advance)
            out.print("estado do Redis refeito")
        else:
            with stopping() as stop:
                run_publish(office.engine, redis_url, law, office.clock, stop)
    office.engine.dispose()


def migrate() -> None:
    """Cria ou atualiza as tabelas do banco de dados."""
    settings = Settings()
    engine = make_engine(reserve_database(settings))
    migrate_tables(engine)
    engine.dispose()
    out.print("tabelas em dia")


def _serve_boardings(settings: Settings, command: list[str]) -> None:
    """Become the parent of the workers; where Redis is ours to end, stay its parent instead."""
    environment = {**os.environ, "CATRACA_DATA_DIR": str(settings.data_dir.absolute())}
    if settings.redis_url is not None:
        os.execve(sys.executable, command, environment)
    with redis_of(settings) as redis_url, stopping() as stop:
        child = subprocess.Popen(
            command, env={**environment, "CATRACA_REDIS_URL": redis_url}, start_new_session=True
        )
        try:
            ended = _wait_for_end({"validator": child}, stop)
        finally:
            _end({"validator": child})
    if ended is not None:
        raise typer.Exit(child.returncode or 1)


@contextmanager
def redis_of(settings: Settings) -> Iterator[str]:
    """The address of Redis; our own is found running, or started and ended with this process."""
    if settings.redis_url is not None:
        yield settings.redis_url
        return
    with EmbeddedRedis(settings.data_dir) as server, _kept_running(server):
        yield server.url


@contextmanager
def _kept_running(server: EmbeddedRedis) -> Iterator[None]:
    """Start our own Redis again when it dies; one that was found running is its starter's to keep."""
    ended = threading.Event()
    watch = threading.Thread(target=_revive, args=(server, ended), daemon=True)
    if server.owned:
        watch.start()
    try:
        yield
    finally:
        ended.set()
        if watch.is_alive():
            watch.join()


def _revive(server: EmbeddedRedis, ended: threading.Event) -> None:
    while not ended.wait(_REDIS_LOOK_S):
        if server.owned:
            continue
        err.print("aviso: o Redis terminou sozinho; começa de novo")
        try:
            server.start()
        except (EmbeddedRedisError, OSError) as error:
            err.print(f"erro: o Redis não começou: {error}")


@contextmanager
def stopping() -> Iterator[threading.Event]:
    """An event that SIGTERM and Ctrl-C set."""
    stop = threading.Event()
    before = {
        number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGTERM, signal.SIGINT)
    }
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _wait_for_end(children: dict[str, "subprocess.Popen[bytes]"], stop: threading.Event) -> str | None:
    """The name of the child that ended by itself; None once somebody asked to stop."""
    while not stop.wait(_POLL_S):
        for name, child in children.items():
            if child.poll() is not None:
                return name
    return None


def _end(children: dict[str, "subprocess.Popen[bytes]"]) -> None:
    """End all, the last started first; one that does not end in time is killed."""
    for child in reversed(children.values()):
        if child.poll() is None:
            child.terminate()
    deadline = time.monotonic() + _STOP_S
    for child in reversed(children.values()):
        try:
            child.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()


@contextmanager
def progress_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on the terminal, and what tells it how many of how many are done."""
    with Progress(TextColumn(what), BarColumn(), MofNCompleteColumn(), console=err) as progress:
        task = progress.add_task(what, total=None)
        yield lambda done, total: progress.update(task, completed=done, total=total)
