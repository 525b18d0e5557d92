"""The OpenAPI document: what FastAPI writes, with the answers that refusals really have."""

from typing import Any

from fastapi import FastAPI

from backoffice.api.problems import MEDIA_TYPE, Problem

_SCHEMAS = "#/components/schemas/"


def describe_problems(app: FastAPI) -> None:
    """Let the document name problem documents wherever a refusal or a failure may be answered."""
    written = app.openapi

    def openapi() -> dict[str, Any]:
        first = app.openapi_schema is None
        document = written()
        if first:
            _add_problems(document)
        return document

    app.openapi = openapi  # type: ignore[method-assign]  # FastAPI's own way of changing the document


def _add_problems(document: dict[str, Any]) -> None:
    problem = Problem.model_json_schema(ref_template=_SCHEMAS + "{model}")
    schemas = document["components"]["schemas"]
    schemas.update(problem.pop("$defs"))
    schemas["Problem"] = problem
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    content = {MEDIA_TYPE: {"schema": {"$ref": _SCHEMAS + "Problem"}}}
    for operations in document["paths"].values():
        for operation in operations.values():
            answers = operation["responses"]
            answers.pop("422", None)
            for status in [status for status in answers if status[0] in "45"]:
                answers[status] = {"description": "Recusado.", "content": content}
            answers["4XX"] = {"description": "Recusado; o documento diz por quê.", "content": content}
            answers["5XX"] = {"description": "Falhou; nada foi gravado.", "content": content}
