"""Whether the process lives, and whether it can work."""

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from sqlalchemy.exc import DBAPIError, OperationalError

from backoffice.api.dependencies import Parts
from backoffice.api.problems import RETRY_AFTER_S, problem

router = APIRouter(prefix="/v1/health", tags=["saúde"])


class Health(BaseModel):
    """That all is well."""

    status: str


@router.get("/live")
def live() -> Health:
    """The process answers."""
    return Health(status="live")


@router.get("/ready", response_model=Health)
def ready(request: Request, parts: Parts) -> Health | JSONResponse:
    """The database answers and has this program's tables."""
    try:
        current = parts.is_current(parts.engine)
    except (OperationalError, DBAPIError):
        current = False
    if current:
        return Health(status="ready")
    detail = (
        "o banco de dados não responde ou não tem as tabelas deste programa (catraca migrate)",
        "the database does not answer or lacks this program's tables (catraca migrate)",
    )
    return problem(request, 503, detail, code="NOT_READY", headers={"Retry-After": str(RETRY_AFTER_S)})
