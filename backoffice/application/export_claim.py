"""Write closed claims as files: the document as JSON and CSV, and the annex of boardings whose hash it carries."""

import hashlib
import json
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from backoffice.adapters.claim_files import annex_bytes, claim_csv, write_file
from backoffice.application.claim_writing import annex_name, annex_rides
from backoffice.application.errors import Conflict, NotFound
from backoffice.application.inspect_claims import own_operator
from backoffice.application.staff import ClaimReader
from backoffice.domain.claims import printed_number
from backoffice.persistence.base import reading
from backoffice.persistence.claims import ClaimRow, ClosingRow
from validator.domain.service_time import Month


@dataclass(frozen=True, slots=True)
class ClaimFiles:
    """The files of one claim."""

    number: str
    json: Path
    csv: Path
    annex: Path


def export_claims(
    engine: Engine,
    by: ClaimReader,
    month: Month,
    folder: Path,
    *,
    operator: str | None = None,
    part: int = 1,
) -> list[ClaimFiles]:
    """Write the claims of a closing into a folder; the bytes are the same at every call.

    Args:
        engine: The database.
        by: Who asks; an operator's people get their own.
        month: The month (competência).
        folder: Where to.
        operator: Code of the only operator wanted; None for all.
        part: 1 for the month's own closing.

    Raises:
        NotFound: the month is not closed, or has no claim of this operator.
        Conflict: the boardings do not give the annex that was frozen; somebody has changed the database.
    """
    with reading(engine) as session:
        rows = session.execute(
            select(ClaimRow, ClosingRow.id)
            .join(ClosingRow, ClosingRow.id == ClaimRow.closing_id)
            .where(ClosingRow.month == month, ClosingRow.part == part)
        ).all()
        claims = sorted((row[0] for row in rows), key=lambda claim: claim.operator)
        own = own_operator(session, by)
        wanted = [
            claim for claim in claims if operator in (None, claim.operator) and own in (None, claim.operator)
        ]
        if not wanted:
            of = "" if operator is None else f" da operadora {operator}"
            raise NotFound(
                f"não há fatura{of} da competência {month}; feche-a primeiro: catraca claim close {month}",
                f"there is no claim of {operator or 'any operator'} for {month}",
            )
        return [_export(session, claim, folder) for claim in wanted]


def _export(session: Session, claim: ClaimRow, folder: Path) -> ClaimFiles:
    number = printed_number(claim.operator, claim.year, claim.number)
    files = ClaimFiles(
        number,
        folder / f"fatura-{number}.json",
        folder / f"fatura-{number}.csv",
        folder / annex_name(number),
    )
    with closing(checked_annex(session, claim)) as annex:
        write_file(files.annex, annex)
    write_file(files.csv, [claim_csv(json.loads(claim.document))])
    write_file(files.json, [claim.document.encode()])
    return files


def checked_annex(session: Session, claim: ClaimRow) -> Generator[bytes]:
    """The annex's bytes; at the end they must have the hash that was frozen, or the file is not kept.

    Raises:
        Conflict: they have another.
    """
    digest = hashlib.sha256()
    with closing(annex_rides(session, claim.closing_id, claim.operator)) as rides:
        for chunk in annex_bytes(rides):
            digest.update(chunk)
            yield chunk
    if digest.hexdigest() != claim.annex_sha256:
        number = printed_number(claim.operator, claim.year, claim.number)
        raise Conflict(
            f"os embarques da fatura {number} não dão o anexo congelado no fechamento (SHA-256 diferente); "
            "o banco de dados foi alterado",
            f"the boardings of claim {number} do not give the annex that was frozen",
        )
