"""What Alembic runs for every command; `backoffice.persistence.migrate` hands it the connection."""

from typing import Any, Literal

from alembic import context

from backoffice.persistence.base import Instant
from backoffice.persistence.tables import all_tables


def _render(kind: str, item: Any, autogen: Any) -> str | Literal[False]:
    if kind == "type" and isinstance(item, Instant):
        autogen.imports.add("from backoffice.persistence.base import Instant")
        return "Instant()"
    return False


def _ours(item: Any, name: str | None, kind: str, reflected: bool, _other: Any) -> bool:
    """Partitions are PostgreSQL's tables, but parts of one of ours."""
    return not (kind == "table" and reflected and (name or "").startswith("boardings_"))


def _run() -> None:
    connection = context.config.attributes["connection"]
    context.configure(
        connection=connection,
        target_metadata=all_tables(),
        compare_type=True,
        render_as_batch=connection.dialect.name == "sqlite",
        render_item=_render,
        include_object=_ours,
        transactional_ddl=True,
    )
    with context.begin_transaction():
        context.run_migrations()


_run()
