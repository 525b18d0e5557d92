"""Refuse a body in which an object has a key twice: readers differ in which of the two they believe."""

import json

from fastapi import Request

from backoffice.application.errors import Invalid

_SHOWN = 64


class RepeatedKey(Invalid):
    """A JSON object has a key twice."""

    code = "REPEATED_KEY"


async def refuse_repeated_keys(request: Request) -> None:
    """Look at the body of any request, before it is read into fields.

    Raises:
        RepeatedKey: an object in it has a key twice.
    """
    body = await request.body()
    if body:
        try:
            json.loads(body, object_pairs_hook=_each_once)
        except (ValueError, RecursionError):
            pass  # no JSON: whoever reads the fields says so


def _each_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    seen: dict[str, object] = {}
    for key, value in pairs:
        if key in seen:
            shown = key[:_SHOWN].encode("utf-8", "replace").decode()
            raise RepeatedKey(
                f"a chave {shown} aparece duas vezes; envie cada chave uma só vez",
                f"the key {shown} appears twice; send every key once",
            )
        seen[key] = value
    return seen
