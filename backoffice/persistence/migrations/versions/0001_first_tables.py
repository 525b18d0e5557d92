"""The first tables, as the SQL files beside this page write them."""

from alembic import op

from backoffice.persistence.first_tables import statements

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    connection = op.get_bind()
    for statement in statements(connection.dialect.name):
        connection.exec_driver_sql(statement)
    connection.exec_driver_sql("INSERT INTO city (id, revision, published_revision) VALUES (1, 0, 0)")


def downgrade() -> None:
    raise RuntimeError("the first tables hold a city's accounts; restore a backup instead")
