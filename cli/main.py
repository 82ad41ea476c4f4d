"""`deadheat`: play and verify on this machine, talk to a server, run one."""

from __future__ import annotations

import typer

from deadheat.cli.author import bots, entering, explain, leaderboard, matches, new, records, submit, teams
from deadheat.cli.local import play, reserve, watch
from deadheat.cli.operator import backup, deployment, doctor, users, workers
from deadheat.cli.organiser import rulings, season
from deadheat.cli.server import client, follow, login
from deadheat.cli.statistics import rate, sprt
from deadheat.cli.tournament import command as tournaments

PANELS = {
    "On this machine": (
        *(new.new, play.play, tournaments.tournament, watch.replay, explain.explain, watch.verify),
        *(rate.rate, sprt.sprt, reserve.run),
    ),
    "Your bots at a server": (
        *(login.login, login.logout, login.whoami, submit.submit, ("bot", bots.group), bots.trial, matches.logs),
        *(entering.enter, entering.gate, entering.withdraw, entering.rejoin, entering.appeal, bots.people),
        ("team", teams.group),
    ),
    "Looking on": (
        *(follow.watch, matches.matches, leaderboard.leaderboard, matches.download, records.export, records.audit),
    ),
    "For organisers": (("season", season.group), ("organise", rulings.group), workers.workers),
    "Running a server": (
        *(deployment.serve, deployment.api, deployment.worker, deployment.scheduler, deployment.migrate),
        *(backup.upgrade, backup.backup, backup.restore, doctor.doctor, doctor.check_host, ("user", users.group)),
    ),
}
"""Every command and group of commands, in the panels of the help, grouped by user."""

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    help="Deadheat: a league for bots under hard deadlines.",
    callback=client.profile,
)
for _panel, _verbs in PANELS.items():
    for _verb in _verbs:
        if isinstance(_verb, tuple):
            app.add_typer(_verb[1], name=_verb[0], rich_help_panel=_panel)
        else:
            app.command(rich_help_panel=_panel)(_verb)
for _part in (deployment.jobs, deployment.keeper):
    app.command(hidden=True)(_part)

if __name__ == "__main__":
    app(prog_name="deadheat")
