"""`catraca card qr`: the picture for the printer of cards. It needs no database; the token is told, never looked up."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from backoffice.adapters.card_qr import MODULE_MM, Picture, card_qr, draw_qr
from backoffice.application.errors import Conflict, Invalid
from backoffice.cli.console import existing, out
from validator.records.card_token import TokenError, read_token


def qr(
    picture: Annotated[Path, typer.Option("--out", metavar="ARQUIVO", help="card.svg ou card.png.")],
    token: Annotated[
        Path | None, typer.Option("--token", metavar="ARQUIVO", help="Arquivo que tem só o código do cartão.")
    ] = None,
    token_stdin: Annotated[
        bool, typer.Option("--token-stdin", help="Lê o código do cartão da entrada padrão.")
    ] = False,
) -> None:
    """Desenha o QR de um cartão, em SVG ou PNG."""
    if (token is None) == (not token_stdin):
        raise Invalid("dê --token ARQUIVO ou --token-stdin", "give --token FILE or --token-stdin")
    text = _token_of(sys.stdin.read() if token is None else existing(token).read_text(encoding="utf-8"))
    try:
        kind = Picture(picture.suffix.removeprefix(".").lower())
    except ValueError:
        raise Invalid(
            f"{picture} não termina em .svg nem em .png", f"{picture} ends neither in .svg nor in .png"
        ) from None
    _write(picture, draw_qr(text, kind))
    modules = card_qr(text).symbol_size(border=0)[0]
    side = f"{MODULE_MM:.1f}".replace(".", ",")
    out.print(f"{picture}: QR de {modules} × {modules} módulos de {side} mm, correção M")


def _token_of(text: str) -> str:
    try:
        read_token(text.strip())
    except TokenError:
        raise Invalid(
            "não é o código de um cartão: são 132 caracteres, A-Z e 2-7, como `catraca card issue` mostra",
            "not the token of a card: 132 characters, A-Z and 2-7, as `catraca card issue` shows it",
        ) from None
    return text.strip()


def _write(path: Path, data: bytes) -> None:
    """Who has the picture has the card, so only its owner may read the file."""
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(data)
    except FileExistsError:
        raise Conflict(f"o arquivo {path} já existe; dê outro nome") from None
