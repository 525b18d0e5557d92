"""The commands of a device: `python -m validator.onboard`, or `catraca onboard` where all of Catraca is installed."""

import argparse
import os
import re
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from validator.onboard.agent import Show, Shown
from validator.onboard.bootstrap import (
    AlreadyRunning,
    Onboard,
    OnboardSettings,
    build,
    holding,
    machine_clock,
    open_journal,
    open_store,
    settings_from,
)
from validator.onboard.city_store import StoreDamaged
from validator.onboard.download import Synced
from validator.onboard.enrolment import EnrolmentFailed, enrol
from validator.onboard.journal_file import JournalError
from validator.onboard.keys import new_key
from validator.onboard.link import LinkDown
from validator.onboard.reader import LineUnreadable, read_line

_encode = msgspec.json.Encoder().encode


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit code."""
    options = _parser().parse_args(arguments)
    try:
        settings = _settings(options)
        with holding(settings.dir):
            code: int = options.command(settings, options)
    except (AlreadyRunning, JournalError, StoreDamaged, EnrolmentFailed, ValueError, OSError) as problem:
        _say(f"erro: {problem}")
        return 1
    return code


class _Parser(argparse.ArgumentParser):
    """A parser that says in Portuguese what the library says in English."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings, add_help=False)
        self.options = self.add_argument_group("opções")
        self.options.add_argument("-h", "--help", action="help", help="Mostra esta ajuda e sai.")

    def format_usage(self) -> str:
        return _in_portuguese(super().format_usage())

    def format_help(self) -> str:
        return _in_portuguese(super().format_help())

    def error(self, message: str) -> NoReturn:
        for english, portuguese in _SAID_OF_ARGUMENTS:
            message = re.sub(english, portuguese, message)
        self.exit(2, f"{self.format_usage()}erro: {message}\n")


_SAID_OF_ARGUMENTS = (
    (r"the following arguments are required: (.*)", r"falta: \1"),
    (r"unrecognized arguments: (.*)", r"argumentos desconhecidos: \1"),
    (r"argument (.*): expected one argument", r"falta o valor de \1"),
    (r"argument (.*): invalid choice: (.*) \(choose from (.*)\)", r"\1 não pode ser \2; escolha entre \3"),
    (r"ambiguous option: (.*) could match (.*)", r"a opção \1 pode ser \2; escreva-a por inteiro"),
    (r"argument (.*): ignored explicit argument (.*)", r"\1 não leva valor, e \2 foi dado"),
)
"""What the library says of arguments, and how it is told here."""


def _in_portuguese(shown: str) -> str:
    return shown.replace("usage:", "Uso:", 1)


def _parser() -> _Parser:
    parser = _Parser(prog="catraca onboard", description="O validador embarcado.")
    parser.options.add_argument(
        "--dir", metavar="PASTA", help="Pasta do diário e da lista (CATRACA_ONBOARD_DIR)."
    )
    parser.options.add_argument(
        "--service", metavar="ENDEREÇO", help="Endereço do serviço de validação (CATRACA_ONBOARD_SERVICE)."
    )
    parser.options.add_argument(
        "--backoffice", metavar="ENDEREÇO", help="Endereço da retaguarda (CATRACA_ONBOARD_BACKOFFICE)."
    )
    parser.options.add_argument("--line", metavar="LINHA", help="Linha no início (CATRACA_ONBOARD_LINE).")
    parser.options.add_argument(
        "--vehicle", metavar="VEÍCULO", help="Veículo no início (CATRACA_ONBOARD_VEHICLE)."
    )
    commands = parser.add_subparsers(required=True, title="comandos", metavar="COMANDO")
    run = commands.add_parser("run", help="Lê toques da entrada padrão e comanda a catraca.")
    run.options.add_argument(
        "--text", action="store_true", help="Mostra só o texto do visor, não linhas JSON."
    )
    run.set_defaults(command=_run)
    enrolment = commands.add_parser("enrol", help="Instala o validador com um código de uso único.")
    code = enrolment.add_argument_group("argumentos")
    code.add_argument("code", metavar="CÓDIGO", help="Código emitido pela retaguarda.")
    enrolment.set_defaults(command=_enrol)
    for name, command, text in (
        ("sync", _sync, "Busca a lista da cidade agora."),
        ("upload", _upload, "Envia agora o que o serviço ainda não tem."),
        ("retire", _retire, "Envia tudo, fecha a época e tira o validador de serviço."),
        ("status", _status, "Mostra instalação, diário e lista."),
        ("check", _check, "Refaz a cadeia inteira do diário."),
    ):
        commands.add_parser(name, help=text).set_defaults(command=command)
    return parser


def _settings(options: argparse.Namespace) -> OnboardSettings:
    settings = settings_from(os.environ)
    named = {
        name: getattr(options, name)
        for name in ("service", "backoffice", "line", "vehicle")
        if getattr(options, name)
    }
    if options.dir:
        settings = replace(settings, dir=Path(options.dir))
    return replace(settings, **named)


def _run(settings: OnboardSettings, options: argparse.Namespace) -> int:
    show = _show_text if options.text else _show_json
    parts = _built(settings, show)
    if parts.journal.installation() is None:
        raise JournalError("o validador não está instalado; rode: catraca onboard enrol CÓDIGO")
    ending = _Ending()
    parts.uplink.start()
    try:
        for line in sys.stdin:
            with ending.after_this():
                _handle(parts, line)
    except KeyboardInterrupt:
        pass
    finally:
        parts.uplink.stop()
        _close(parts)
    return 0


def _handle(parts: Onboard, line: str) -> None:
    try:
        message = read_line(line)
    except LineUnreadable as error:
        _say(f"linha ilegível: {error}")
        return
    if message is not None:
        parts.agent.handle(message)


class _Ending:
    """Asked to end, the agent ends between two lines, never between a tap and its release."""

    def __init__(self) -> None:
        self._busy = False
        self._asked = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._ask)

    def _ask(self, _signal: int, _frame: object) -> None:
        self._asked = True
        if not self._busy:
            raise KeyboardInterrupt

    @contextmanager
    def after_this(self) -> Iterator[None]:
        """Hold an end back while a line is handled."""
        self._busy = True
        yield
        self._busy = False
        if self._asked:
            raise KeyboardInterrupt


def _enrol(settings: OnboardSettings, options: argparse.Namespace) -> int:
    journal, store = open_journal(settings), open_store(settings)
    try:
        given = enrol(options.code, settings.backoffice, journal, store, new_key, machine_clock())
    finally:
        journal.close()
        store.close()
    print(f"validador {given.device_id}, época {given.epoch}: instalado")
    parts = _built(settings, _show_json)
    try:
        if parts.uplink.sync() not in (Synced.TAKEN, Synced.CONFIRMED):
            _say("a lista da cidade ainda não veio; o validador a busca quando houver rede")
    finally:
        _close(parts)
    return 0


def _sync(settings: OnboardSettings, _options: argparse.Namespace) -> int:
    parts = _built(settings, _show_json)
    try:
        result = parts.uplink.sync()
        current = parts.store.current()
    finally:
        _close(parts)
    version = "nenhuma" if current is None else str(current.version)
    print(f"lista: {result.value}, versão {version}")
    return 0 if result in (Synced.TAKEN, Synced.CONFIRMED) else 1


def _upload(settings: OnboardSettings, _options: argparse.Namespace) -> int:
    parts = _built(settings, _show_json)
    try:
        parts.uplink.upload_all()
        owed = parts.uplink.uploader.owes()
    except LinkDown as error:
        _say(f"erro: o serviço não respondeu: {error}")
        return 1
    finally:
        _close(parts)
    print(f"enviado; ainda sem confirmação durável: {owed}")
    return 0


def _retire(settings: OnboardSettings, _options: argparse.Namespace) -> int:
    parts = _built(settings, _show_json)
    parts.uplink.uploader.closing = True
    try:
        parts.uplink.upload_all()
        installation = parts.journal.installation()
    except LinkDown as error:
        _say(f"erro: o serviço não respondeu: {error}")
        return 1
    finally:
        _close(parts)
    if installation is None or not installation.closed:
        _say("o serviço ainda não confirmou tudo; repita o comando em um minuto")
        return 1
    print(f"época {installation.epoch} fechada")
    return 0


def _status(settings: OnboardSettings, _options: argparse.Namespace) -> int:
    parts = _built(settings, _show_json)
    try:
        installation = parts.journal.installation()
        if installation is None:
            print("validador não instalado")
        else:
            last, head = parts.journal.last(installation.epoch)
            print(f"validador {installation.device_id}, época {installation.epoch}")
            print(f"última sequência {last}, durável até {installation.durable_seq}")
            print(f"cabeça {head.hex()}")
            print(f"meias ainda não ouvidas pelo serviço: {parts.rides.unheard_half_fares()}")
        current = parts.store.current()
        if current is None:
            print("sem lista")
        else:
            entries, hot = parts.store.size()
            print(
                f"lista {current.version} de {current.issued_at.isoformat()}: {entries} titulares, {hot} bloqueios"
            )
    finally:
        _close(parts)
    return 0


def _check(settings: OnboardSettings, _options: argparse.Namespace) -> int:
    journal = open_journal(settings)
    try:
        for epoch in journal.epochs():
            print(f"época {epoch}: {journal.check(epoch)} entradas, cadeia íntegra")
    finally:
        journal.close()
    return 0


def _built(settings: OnboardSettings, show: Show) -> Onboard:
    return build(settings, show, _say)


def _close(parts: Onboard) -> None:
    parts.journal.close()
    parts.store.close()


def _show_json(shown: Shown) -> None:
    sys.stdout.write(_encode(shown).decode() + "\n")
    sys.stdout.flush()


def _show_text(shown: Shown) -> None:
    sys.stdout.write(f"{shown.display}\n")
    sys.stdout.flush()


def _say(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
