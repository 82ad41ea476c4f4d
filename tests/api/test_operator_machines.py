"""What the operator's page says of machines that play over HTTP."""

from deadheat import __version__
from deadheat.league.jobs import Host
from deadheat.league.service.machines.access import add_machine, look_up_machine, revoke_machine
from deadheat.league.service.machines.work import register
from deadheat.league.service.rulings.closing import set_role
from deadheat.league.states import Role, Trust
from tests.api.browser import Browser
from tests.api.site import Site


def test_the_operators_page_says_what_a_machine_over_http_may_do(site: Site) -> None:
    site.author("ada")
    for name, trust, owner in (("far", Trust.FULL, ""), ("lent", Trust.LOW, "ada")):
        token = site.world.write(add_machine, name, trust, owner)
        caller = site.world.read(look_up_machine, token, "boot")
        assert caller.host == Host(name, "boot")
        site.world.write(register, caller, "deadheat/judge:core", starts=True)
    boss = Browser(site).sign_up("root")
    site.world.write(set_role, "root", Role.ADMIN)
    page = boss.get("/operator").text
    assert f"over HTTP, fully trusted, release {__version__}" in page
    assert f"over HTTP, lent, release {__version__} (ada)" in page and "Its token was revoked." not in page
    site.world.write(revoke_machine, "lent")
    assert "Its token was revoked." in boss.get("/operator").text
