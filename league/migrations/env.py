"""The script that Alembic runs, in the connection (and transaction) that `league.database` provides."""

from alembic import context
from sqlmodel import SQLModel

import deadheat.league.tables  # noqa: F401  # fills the metadata

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=SQLModel.metadata,
    render_as_batch=connection.dialect.name == "sqlite",  # SQLite cannot alter most things in place
    compare_type=True,
    transactional_ddl=True,  # we send BEGIN ourselves, so SQLite too rolls a failed migration back
)
with context.begin_transaction():
    context.run_migrations()
