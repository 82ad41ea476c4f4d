"""The league's use cases: everything that changes or reads the database, each within one transaction.

Callers open the session (`league.database.Database.transaction`) and, once it is committed, enqueue the rows that a use
case returned. Nothing here talks to the queue, to a sandbox or to a browser.
"""
