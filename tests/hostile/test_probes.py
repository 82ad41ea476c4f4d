"""Outside of the product's box, each attempt of the probes succeeds.

These are the programs of test_zoo, started by root in a container with every capability that can be given and without a
filter, on the host's network, with the engine's socket, the host's devices and a stage of loosen.py's making. An
attempt that fails even here is written wrongly, or this machine has nothing to attempt it on; the latter are listed.
"""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from deadheat.sandbox.archive import extract_program
from tests.hostile.zoo import CASES, MatchCase, Zoo, load, names, upload_of

pytestmark = [pytest.mark.containers, pytest.mark.all]

LOOSEN = Path(__file__).with_name("loosen.py")
PROBES = [name for name in names() if (CASES / name / "bot" / "probe.h").exists()]
TIMEOUT_S = 120

CAPABILITIES = """
CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE
NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN
SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE
MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ
""".split()  # noqa: SIM905  # in the order of their numbers; one a line would be forty lines


@pytest.fixture(scope="module")
def zoo(engine_required: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Zoo]:
    opened = Zoo(tmp_path_factory.mktemp("probes"))
    yield opened
    opened.close()


@pytest.mark.parametrize("name", PROBES)
def test_every_attempt_succeeds_where_nothing_confines_it(zoo: Zoo, tmp_path: Path, name: str) -> None:
    case = load(name)
    assert isinstance(case, MatchCase)
    upload, content = zoo.accept(*upload_of(name, case))
    extract_program(zoo.context.blobs.get(zoo.build(upload, content).program_sha256, 2**26), tmp_path, 2**26)

    said = unconfined(tmp_path, zoo.settings.image)
    tried = set(re.findall(r"^tried: (.*) -> ", said, re.MULTILINE))
    failed = tried - set(re.findall(r"^BREACH: (.*)", said, re.MULTILINE))
    assert len(tried) == case.expect.tried, said
    assert case.expect.rare <= tried, "it names an attempt that is not made"
    assert failed <= case.expect.rare, said


def unconfined(program: Path, image: str) -> str:
    """Return the output of a probe that loosen.py starts."""
    program.chmod(0o755)
    (program / LOOSEN.name).write_bytes(LOOSEN.read_bytes())
    mounts = [f"--volume={program}:/bot", "--volume=/dev:/mnt", "--volume=/var/run/docker.sock:/var/run/docker.sock"]
    options = ["seccomp=unconfined", "apparmor=unconfined", "systempaths=unconfined"]
    done = subprocess.run(
        [
            *("docker", "run", "--rm", "--interactive", "--network=host", "--ipc=private", "--workdir=/bot", *mounts),
            *("--device-cgroup-rule=a *:* rwm", *(f"--security-opt={option}" for option in options)),
            *("--cap-drop=ALL", *(f"--cap-add={name}" for name in our_capabilities())),
            *(image, "/usr/bin/python3", LOOSEN.name, "./bot"),
        ],
        input="READY\nFINISH\n",
        capture_output=True,
        text=True,
        check=False,
        timeout=TIMEOUT_S,
    )
    assert (done.returncode, done.stdout) == (0, "OK\n"), done.stderr
    return done.stderr


def our_capabilities() -> list[str]:
    """Return the capabilities that can be passed on here: a virtual machine may lack one."""
    status = Path("/proc/self/status").read_text()
    (bounding,) = re.findall(r"^CapBnd:\s*([0-9a-f]+)$", status, re.MULTILINE)
    return [name for number, name in enumerate(CAPABILITIES) if int(bounding, 16) >> number & 1]
