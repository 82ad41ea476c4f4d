"""Game tables: matches of people and agents, with each other or against bots.

Theory of operation
-------------------
A table is one row with the replies so far, and a row for each seat. No process belongs to it: whoever comes with an
answer locks the row, replays the match from its replies (`engine.unfinished`), and stores one more. A process keeps its
newest replays, by all that determines them, so that another costs no more in a long match; it may forget any of them.
Once everybody who was asked in a step has answered, the replies join the others in the same transaction, and those whom
the next step asks are asked (`turns`). So a restart of the site loses nothing, and nobody learns anything from a step
before all have answered.

*People and agents are the same kind of seat*: they answer over HTTP, from elsewhere (`REMOTE`). READY is answered for
them. The rules check every answer first (`Playing.objection`); what they refuse costs a person nothing.
An answer belongs to a turn, so one that is sent twice changes nothing, and one to an earlier turn is refused.

*Their clock is not the game's.* A reply is recorded with 0 ns: a move has a limit of minutes or seconds (the table's
pace), a time bank does not run, and the transcript verifies like any other. Nothing is ever answered in their place:
who leaves is recorded as `exited`, who is late as `timeout`. The site itself reports that it is there (`watch`); time
in which it did not, because it or our database was away, is given back.

*Programs keep their rooms*, and a worker holds all of a table's (`programs`, `workers.tables`): it is a job like any
other (`league.service.ground.life`). The worker gives them their lines, and writes their replies as people's are
written. If it dies, another one gives new rooms the same lines, and the match goes on as far as they say the same. A
table without programs has no worker.

*Tables cannot crowd out the league.* There are `exhibitions` places in a deployment for tables with programs, and one
match per person; whoever takes a seat while all are taken waits in a queue (`places`). The wait, each move and a
person's match have limits. Nothing here is rated, and no table of the league refers to it.
"""
