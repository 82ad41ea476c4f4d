"""Schemas in PostgreSQL's SQL, translated for SQLite, which names some types differently.

Constraints are beside their columns. UNIQUE and ON DELETE are at the end of a table: in SQLite, SQLAlchemy reads them
only there, and would otherwise miss them when it compares schema and tables.
"""

from alembic import op

IN_SQLITE = {"SERIAL": "INTEGER", "TIMESTAMPTZ": "DATETIME", "BYTEA": "BLOB"}


def run(statements: str) -> None:
    """Execute statements; each ends with a semicolon at the end of a line."""
    if op.get_bind().dialect.name == "sqlite":
        for postgres, sqlite in IN_SQLITE.items():
            statements = statements.replace(postgres, sqlite)
    for statement in statements.strip().removesuffix(";").split(";\n"):
        op.execute(statement)
