"""The words of `--help` in Portuguese: what a parameter is called, what it takes, and what the library adds in English.

A parameter may say its own words where it is declared; what it does not say is found here by its name, since one name
means one thing in all commands.
"""

import re
from collections.abc import Callable
from typing import Any

DAY = "dd/mm/aaaa"
"""What a parameter that takes a civil day is shown as."""

INSTANT = "INSTANTE"
"""What a parameter that takes an instant is shown as; its help shows one."""

_ARGUMENTS = {
    "boarding": "EMBARQUE",
    "code": "CÓDIGO",
    "device": "VALIDADOR",
    "epoch": "ÉPOCA",
    "first": "PRIMEIRA",
    "holder": "TITULAR",
    "into": "TITULAR",
    "key_id": "CHAVE",
    "last": "ÚLTIMA",
    "line": "LINHA",
    "name": "NOME",
    "number": "NÚMERO",
    "operator": "OPERADOR",
    "reason": "MOTIVO",
    "request": "PEDIDO",
    "right": "DIREITO",
    "school": "ESCOLA",
    "uid": "UID",
    "units": "QUANTIDADE",
    "url": "ENDEREÇO",
    "vehicle": "VEÍCULO",
    "year": "ANO",
}

_MEANINGS = {
    "act": "Número do ato (catraca act list).",
    "birth_date": "Dia do nascimento.",
    "boarding": "O embarque, como mostrado por catraca quarantine list.",
    "code": "Código.",
    "device": "Código do validador.",
    "died_on": "Dia do falecimento.",
    "ended_on": "Primeiro dia que já não conta.",
    "epoch": "Época do validador (catraca journal status).",
    "first": "A primeira sequência.",
    "first_day": "Primeiro dia.",
    "from_at": "Desde quando; sem ele, agora.",
    "from_day": "Desde que dia; sem ele, hoje.",
    "holder": "Número do titular.",
    "into": "Número do titular que fica.",
    "key_id": "Número da chave.",
    "last": "A última sequência.",
    "last_day": "Último dia.",
    "line": "Código da linha.",
    "name": "Nome completo.",
    "number": "Número, como está escrito nele.",
    "operator": "Código do operador.",
    "published_on": "Dia da publicação.",
    "reason": "Motivo.",
    "request": "Número do pedido (catraca right pending).",
    "revoked_at": "Desde quando; sem ele, agora.",
    "right": "Número do direito (catraca holder show).",
    "school": "Número da escola (catraca school list).",
    "signed_on": "Dia da assinatura.",
    "target": "O login da pessoa.",
    "uid": "O uid do chip, em hexadecimal, como o leitor o mostra.",
    "units": "Quantidade de passes.",
    "until": "Até quando; sem ele, agora.",
    "until_at": "Até quando; sem ele, agora.",
    "vehicle": "Número do veículo.",
    "year": "O ano letivo.",
}

_WITHOUT = re.compile("; sem ele, [^.]*")
"""What holds where a parameter is left out."""

_HEADINGS = (
    (re.compile(r"^Usage: ", re.MULTILINE), "Uso: "),
    (re.compile(r"^Options:$", re.MULTILINE), "Opções:"),
    (re.compile(r"^Arguments:$", re.MULTILINE), "Argumentos:"),
    (re.compile(r"^Commands:$", re.MULTILINE), "Comandos:"),
)

_ADDED = (
    (re.compile(r"(\d+)<=x<=(\d+)"), r"de \1 a \2"),
    (re.compile(r"x>=(\d+)"), r"no mínimo \1"),
    (re.compile(r"x<=(\d+)"), r"no máximo \1"),
    (re.compile(r"\brequired\b"), "obrigatório"),
    (re.compile(r"\bdefault: "), "padrão: "),
    (re.compile(r"\benv var: "), "variável: "),
)
"""What the library adds to the help of a parameter."""


def speak_portuguese(command: Any) -> None:
    """Let one command show its help in Portuguese."""
    command.options_metavar = "[OPÇÕES]"
    if hasattr(command, "subcommand_metavar"):
        command.subcommand_metavar = "COMANDO [ARGUMENTOS]..."
    for parameter in command.params:
        _name(parameter)
        parameter.get_help_record = _record(parameter, parameter.get_help_record)
    command.get_help_option = _help_option(command.get_help_option)
    command.get_help = _translated(command.get_help)


def _name(parameter: Any) -> None:
    """Give a parameter its words."""
    is_argument = not parameter.opts[0].startswith("-")
    if parameter.metavar is None and not getattr(parameter, "is_flag", False):
        argument = _ARGUMENTS.get(parameter.name) if is_argument else None
        parameter.metavar = argument or _kind(parameter.type_descriptor)
    meaning = _MEANINGS.get(parameter.name, "")
    if parameter.required:
        meaning = _WITHOUT.sub("", meaning)
    parameter.help = parameter.help or meaning
    if parameter.metavar == INSTANT:
        parameter.help += " Exemplo: 2026-03-02T07:15:00-03:00."


def _kind(descriptor: Any) -> str:
    """What a parameter takes, by its type."""
    if descriptor.is_choice:
        return "|".join(str(choice.value) for choice in descriptor.choices)
    if descriptor.is_path:
        return "ARQUIVO"
    return "NÚMERO" if descriptor.annotation in (int, float) else "TEXTO"


def _record(parameter: Any, english: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def get_help_record(context: Any) -> tuple[str, str] | None:
        shown = english(context)
        if shown is None:
            return None
        names, text = shown
        added = text.removeprefix(parameter.help)
        for word, portuguese in _ADDED:
            added = word.sub(portuguese, added)
        if not parameter.opts[0].startswith("-"):
            names = parameter.metavar
        return names, f"{parameter.help}{added}"

    return get_help_record


def _help_option(english: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def get_help_option(context: Any) -> Any:
        option = english(context)
        if option is not None:
            option.help = "Mostra esta ajuda e termina."
        return option

    return get_help_option


def _translated(english: Callable[[Any], str]) -> Callable[[Any], str]:
    def get_help(context: Any) -> str:
        text = english(context)
        for heading, portuguese in _HEADINGS:
            text = heading.sub(portuguese, text)
        return text

    return get_help
