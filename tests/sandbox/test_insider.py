"""What a bot finds in its room and what it cannot do there. Each check is a run of its own, like a match."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from deadheat.league.config import Settings
from deadheat.sandbox.box import Box
from deadheat.sandbox.docker import DockerSandbox
from tests.sandbox.boxes import INSIDER, SMALL, Insider, inside, python, stop

pytestmark = pytest.mark.containers

SOCKETS = [(2, 1), (2, 2), (10, 1), (16, 3), (17, 3), (38, 5), (40, 1)]  # inet, inet6, netlink, packet, alg, vsock
CALLS = {  # numbers of x86-64, with arguments that would succeed, or fail otherwise, without the filter
    "io_uring_setup": (425, "1, ctypes.create_string_buffer(120)"),
    "memfd_create": (319, "b'x', 0"),
    "io_setup": (206, "1, ctypes.byref(ctypes.c_ulong())"),
    "memfd_secret": (447, "0"),
    "userfaultfd": (323, "1"),
    "keyctl": (250, "0, -3, 1"),
    "add_key": (248, "b'user', b'x', b'x', 1, -2"),
    "bpf": (321, "0, ctypes.create_string_buffer(72), 72"),
    "perf_event_open": (298, "ctypes.create_string_buffer(128), 0, -1, -1, 0"),
    "ptrace": (101, "0, 0, 0, 0"),
    "process_vm_readv": (310, "os.getpid(), 0, 0, 0, 0, 0"),
    "unshare": (272, "0x10000000"),
    "clone with a namespace": (56, "0x10000011, 0, 0, 0, 0"),
    "clone with a process namespace": (56, "0x20000011, 0, 0, 0, 0"),
    "clone with a mount namespace": (56, "0x20011, 0, 0, 0, 0"),
    "clone3": (435, "ctypes.create_string_buffer(struct.pack('8Q', 0, 0, 0, 0, 17, 0, 0, 0)), 64"),
    "clone with a handle": (56, "0x1011, 0, ctypes.byref(ctypes.c_int()), 0, 0"),
    "mount": (165, "b'x', b'/tmp', b'tmpfs', 0, 0"),
    "a remount": (165, "None, b'/bot', None, 0x1020, 0"),
    "a mount of proc": (165, "b'proc', b'/tmp', b'proc', 0, 0"),
    "umount": (166, "b'/tmp', 0"),
    "umount of proc": (166, "b'/proc', 2"),
    "pivot_root": (155, "b'/', b'/tmp'"),
    "sysinfo": (99, "ctypes.create_string_buffer(200)"),
    "pidfd_open": (434, "os.getpid(), 0"),
    "the number of a socket": (
        55,
        "kept.append(socket.socket(1)) or kept[-1].fileno(), 1, 57, b'x' * 8, b'\\x08\\0\\0\\0'",
    ),
    "a handle of a socket's peer": (
        55,
        "kept.append(socket.socketpair()) or kept[-1][0].fileno(), 1, 77, b'x' * 4, b'\\x04\\0\\0\\0'",
    ),
    "setns": (308, "0, 0"),
    "open_by_handle_at": (304, "-100, 0, 0"),
    "shmget": (29, "0, 4096, 0o1600"),
    "mq_open": (240, "b'x', 0o102, 0o600, 0"),
    "settimeofday": (164, "ctypes.create_string_buffer(16), 0"),
    "clock_settime": (227, "0, ctypes.create_string_buffer(16)"),
    "fanotify_init": (300, "0, 0"),
    "splice": (275, "os.pipe()[0], 0, os.pipe()[1], 0, 0, 1"),
    "tee": (276, "os.pipe()[0], os.pipe()[1], 0, 1"),
    "vmsplice": (278, "os.pipe()[1], 0, 0, 0"),
    "signalfd": (282, "-1, ctypes.create_string_buffer(8), 8"),
    "fstatfs": (138, "0, ctypes.create_string_buffer(120)"),
    "seccomp with a listener": (317, "1, 8, ctypes.create_string_buffer(struct.pack('Hxxxxxx', 1) + bytes(8))"),
    "kcmp": (312, "1, 1, 0, 0, 0"),
    "landlock_create_ruleset": (444, "0, 0, 1"),
    "statx, which tells the number of a mount": (332, "-100, b'/tmp', 0, 0, ctypes.create_string_buffer(256)"),
    "a filter of a socket": (
        54,
        (
            "kept.extend([socket.socket(1), ctypes.create_string_buffer(bytes([6] + 7 * [0]))]) or kept[-2].fileno(), "
            "1, 26, struct.pack('HxxxxxxP', 1, ctypes.addressof(kept[-1])), 16"
        ),
    ),
    "the host's networks, by a local socket": (
        16,
        "kept.append(socket.socket(1)) or kept[-1].fileno(), 0x8912, ctypes.create_string_buffer(16)",
    ),
    "the module of bridges": (
        16,
        "kept.append(socket.socket(1)) or kept[-1].fileno(), 0x8940, ctypes.create_string_buffer(64)",
    ),
}


@pytest.fixture(scope="module")
def series(engine_required: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Box]:
    folder = tmp_path_factory.mktemp("series")
    sandbox = DockerSandbox(Settings().image, folder / "run")
    opened = sandbox.open(python(folder, INSIDER), SMALL)
    yield opened
    opened.close()
    sandbox.close()


@pytest.fixture
def ask(series: Box) -> Iterator[Insider]:
    yield inside(series)
    stop(series, 0)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("os.getuid() == os.getgid() >= 2**20, os.getgroups()", "(True, [])"),
        ("os.environ.get('JUDGE_UID')", "None"),
        ("capabilities()", "[0, 0, 0, 0, 0, 0]"),
        ("[libc.prctl(number, 0, 0, 0, 0) for number in (21, 39)], libc.prctl(23, 0, 0, 0, 0)", "([2, 1], 0)"),
        ("resource.getrlimit(resource.RLIMIT_NOFILE)", "(256, 256)"),
        ("resource.getrlimit(resource.RLIMIT_CORE)", "(1, 1)"),
        ("resource.getrlimit(resource.RLIMIT_FSIZE)", f"({64 * 2**20}, {64 * 2**20})"),
        ("resource.getrlimit(12)", "(0, 0)"),  # message queues
        ("signal.getsignal(signal.SIGPIPE) == signal.SIG_IGN, os.getcwd()", "(True, '/bot')"),
        ("[fd for fd in range(256) if tries(lambda: os.fstat(fd)).startswith('os.stat')]", "[0, 1, 2]"),
        (
            "os.listdir('/proc'), sorted(os.listdir('/proc/self')), os.listdir('/sys')",
            "(['self'], ['exe', 'maps'], [])",
        ),
        ("sorted(os.listdir('/dev'))", "['full', 'null', 'random', 'urandom', 'zero']"),
        ("os.getpid(), os.getppid(), os.getsid(0)", "(3, 1, 3)"),
        ("[os.path.exists(f'/usr/bin/{tool}') for tool in ('gcc', 'cc', 'ld', 'perl', 'dpkg')]", str([False] * 5)),
        ("os.path.exists('/dev/shm')", "False"),
        ("os.path.exists('/var/run/docker.sock')", "False"),
        (
            "libc.shmget(0, 4096, 0o1600) < 0, libc.msgget(0, 0o1600) < 0, libc.semget(0, 1, 0o1600) < 0",
            "(True, True, True)",
        ),
    ],
)
def test_the_insider_finds(ask: Insider, expression: str, expected: str) -> None:
    assert ask(expression) == expected


@pytest.mark.parametrize(
    "attempt",
    [
        *(f"open('{path}', 'w')" for path in ("/bot/x", "/x", "/etc/x", "/dev/x", "/dev/mqueue/x", "/judge/ctl")),
        *("open('/proc/sysrq-trigger', 'w')", "open('/proc/self/fd/0', 'rb+')", "open('/proc/self/fd/1', 'rb')"),
        *("open('/proc/1/environ')", "open('/judge/in')", "open('/resident/complete')", "os.listdir('/judge')"),
        *("os.listdir('/proc/1/fd')", "os.kill(1, 9)", "os.getloadavg()", "os.setuid(0)", "os.chroot('/tmp')"),
        *("os.nice(-1)", "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))"),
        *(f"socket.socket().connect(('{host}', 80))" for host in ("127.0.0.1", "169.254.169.254")),
        *("socket.getaddrinfo('example.org', 80)", "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)"),
        *("resource.setrlimit(resource.RLIMIT_NOFILE, (9999, 9999))", "[os.dup(1) for i in range(300)]"),
        "mmap.mmap(-1, 2**21, flags=0x44022)",  # huge pages (MAP_HUGETLB), not reserved, because a host may have none
        *("open('/tmp/big', 'wb').write(bytes(2 * 2**20))", "[open(f'/tmp/{i}', 'w').close() for i in range(99)]"),
        *(f"socket.socket({family}, {kind})" for family, kind in SOCKETS),
        *(f"call({number}, {arguments})" for number, arguments in CALLS.values()),
    ],
)
def test_the_insider_cannot(ask: Insider, attempt: str) -> None:
    assert "error" in ask(attempt).split(":")[0].lower()


@pytest.fixture
def box(docker_sandbox: DockerSandbox, tmp_path: Path) -> Iterator[Box]:
    with closing(docker_sandbox.open(python(tmp_path, INSIDER), SMALL)) as opened:
        yield opened


def test_names_of_files_may_begin_with_a_space(docker_sandbox: DockerSandbox, tmp_path: Path) -> None:
    program = python(tmp_path, INSIDER)
    for name in ("a", " a", "  a"):
        (program.directory / name).write_text(name)
    with closing(docker_sandbox.open(program, SMALL)) as box:
        assert inside(box)("[text('/bot/' + name) for name in ('a', ' a', '  a')]") == "['a', ' a', '  a']"


def test_a_room_ends_however_many_others_have_begun_meanwhile(docker_sandbox: DockerSandbox, tmp_path: Path) -> None:
    program = python(tmp_path, INSIDER)
    with closing(docker_sandbox.open(program, SMALL)) as box, closing(docker_sandbox.open(program, SMALL)) as other:
        inside(box)("1")
        for _ in range(15):  # may make more numbers than a processor gets at once
            other.start()
            stop(other, 0)
        stop(box, 0)
        assert inside(box)("1") == "1"


@pytest.mark.parametrize(
    "attempt",
    [
        "call(317, 1, 0, struct.pack('HxxxxxxQ', 1, 0))",  # a filter
        "[call(157, 22, 2, struct.pack('HxxxxxxQ', 1, 0), 0, 0)]",
        "call(72, os.open('/tmp/x', os.O_CREAT | os.O_RDWR), 1036, struct.pack('Q', 3))",  # a hint about a file
        "call(72, os.open('/tmp/x', os.O_CREAT | os.O_RDWR), 1038, struct.pack('Q', 3))",
    ],
)
def test_what_the_host_would_note_or_keep_is_refused(box: Box, attempt: str) -> None:
    said = inside(box)(attempt)
    assert "Errno 1]" in said or "Errno 38]" in said


def test_processes_have_the_same_numbers_in_every_match(box: Box) -> None:
    for _ in range(3):
        ask = inside(box)
        assert ask("os.getpid()") == "3"  # 2 is the warden's thread
        assert ask("[child(), child()]") == "[4, 5]"
        stop(box, 0)
