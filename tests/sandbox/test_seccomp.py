"""The filter's own shape; test_insider shows what it does to a bot."""

import json

from deadheat.sandbox.seccomp import profile

CLONE_PIDFD = 0x1000
RULES = json.loads(profile())["syscalls"]


def names(action: str, *, whatever_arguments: bool) -> list[str]:
    return [
        name
        for rule in RULES
        if rule["action"] == action and ("args" not in rule) is whatever_arguments
        for name in rule["names"]
    ]


def test_nothing_is_allowed_by_default() -> None:
    assert json.loads(profile())["defaultAction"] == "SCMP_ACT_ERRNO"


def test_no_call_is_both_allowed_and_refused() -> None:
    allowed = names("SCMP_ACT_ALLOW", whatever_arguments=True)
    assert len(set(allowed)) == len(allowed)
    assert not set(allowed) & {*names("SCMP_ACT_ERRNO", whatever_arguments=True), "socket", "clone", "clone3"}


def test_init_may_mount_where_it_makes_rooms_and_only_there() -> None:
    calls = {"mount", "umount2", "pivot_root", "seccomp"}
    assert calls <= set(names("SCMP_ACT_ERRNO", whatever_arguments=True))
    added = set(json.loads(profile(rooms=True))["syscalls"][0]["names"]) - set(RULES[0]["names"])
    assert added == {*calls, "clone3"}
    assert not {"setns", "unshare", "splice", "tee", "vmsplice"} & {*added, *RULES[0]["names"]}


def test_what_is_allowed_by_an_argument_is_named_by_its_value_or_a_block_of_them() -> None:
    """A value that differs from a refused one may be the same with another upper half."""
    operators = {
        comparison["op"] for rule in RULES if rule["action"] == "SCMP_ACT_ALLOW" for comparison in rule.get("args", [])
    }
    assert operators == {"SCMP_CMP_EQ", "SCMP_CMP_MASKED_EQ"}


def test_every_namespace_flag_of_clone_is_masked() -> None:
    (rule,) = [rule for rule in RULES if rule["names"] == ["clone"]]
    flags = [0x80, CLONE_PIDFD, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000]
    assert rule["args"] == [{"index": 0, "value": sum(flags), "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}]
