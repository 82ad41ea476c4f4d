"""Takes down the walls that a container has from the inside, puts up what a probe looks for, and starts a program.

Run by test_probes.py as ``python3 loosen.py PROGRAM`` in a throw-away container that was given every capability, the
host's network and no filter. So whatever a probe tries can succeed here, and a probe that fails all the same proves
nothing. The host's devices are at /mnt; nothing outside of the container is changed.
"""

import contextlib
import ctypes
import fcntl
import os
import resource
import socket
import subprocess
import sys
import termios
from pathlib import Path

HOST_DEVICES = Path("/mnt")
JUDGE_FILES = ("ctl", "ack", "in", "out", "err")
SERVICES = """
/run/containerd/containerd.sock /run/podman/podman.sock /run/systemd/private /run/systemd/notify /dev/log
/run/dbus/system_bus_socket /run/systemd/resolve/io.systemd.Resolve /run/postgresql/.s.PGSQL.5432 /tmp/.X11-unix/X0
"""
ABSTRACT_SERVICE = "\0/containerd-shim/moby/shim.sock"
NEIGHBOUR = 2**20 + 1
MS_REMOUNT, MS_BIND = 32, 4096
ALL_CAPABILITIES = bytes.fromhex("01000002ffffffff00000000ffffffff00000000")

libc = ctypes.CDLL(None, use_errno=True)


def remount_writable(path: Path, flags: int) -> None:
    """Remount a file system. One that cannot be remounted leaves a probe closed, and the test then names it."""
    if libc.mount(None, os.fsencode(path), None, MS_REMOUNT | flags, None) != 0:
        print(f"cannot remount {path}: {os.strerror(ctypes.get_errno())}", file=sys.stderr)


def open_file_systems() -> None:
    remount_writable(Path("/sys"), 0)
    for path in (Path("/sys/fs/cgroup"), *Path("/sys/fs/cgroup").iterdir()):
        if path.is_mount():
            remount_writable(path, MS_BIND)


def make_devices() -> None:
    for original in (path for pattern in ("*", "net/*", "mapper/*") for path in HOST_DEVICES.glob(pattern)):
        copy = Path("/dev") / original.relative_to(HOST_DEVICES)
        if (original.is_char_device() or original.is_block_device()) and not copy.exists():
            copy.parent.mkdir(exist_ok=True)
            os.mknod(copy, original.stat().st_mode, original.stat().st_rdev)


def lay_out_files() -> None:
    for name in JUDGE_FILES:
        Path("/judge", name).touch()
    Path("/etc/machine-id").write_text("0123456789abcdef\n")
    with Path("/etc/hosts").open("a") as hosts:
        hosts.write("127.0.0.1 example.org\n")
    for folder in ("/opponent", "/var/lib/docker", "/tmp/left-by-others", "/var/tmp/left-by-others", *host_folders()):
        Path(folder).mkdir(parents=True, exist_ok=True)
    Path("/opponent/theirs").touch()
    os.chown("/opponent/theirs", NEIGHBOUR, NEIGHBOUR)
    lender, bearer = Path("/usr/local/bin/lender"), Path("/usr/local/bin/bearer")
    for path in (lender, bearer):
        path.write_bytes(Path("/bin/true").read_bytes())
        path.chmod(0o755)
    lender.chmod(0o4755)
    os.setxattr(bearer, "security.capability", ALL_CAPABILITIES)


def host_folders() -> list[str]:
    """Find the folders on the host that hold this container's program."""
    lines = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return [fields[3] for fields in lines if fields[4] == "/bot"]


def serve() -> list[socket.socket]:
    """Listen at the address of every service where nothing listens yet."""
    listening = []
    for path in (*SERVICES.split(), ABSTRACT_SERVICE):
        if path[0] == "/":
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        server = socket.socket(socket.AF_UNIX)
        with contextlib.suppress(OSError):
            server.bind(path)
            server.listen()
        listening.append(server)
    return listening


def run(program: list[str]) -> int:
    """Run the program with a terminal, one processor, open descriptors and a sibling."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))
    _, terminal = os.openpty()
    with subprocess.Popen(["/bin/sleep", "60"], cwd="/") as sibling:
        try:
            return subprocess.run(
                program,
                check=False,
                start_new_session=True,
                preexec_fn=lambda: fcntl.ioctl(terminal, termios.TIOCSCTTY, 0),
                pass_fds=[terminal],
                env={**os.environ, "DOCKER_HOST": "unix:///run/docker.sock", "SECRET": "1"},
            ).returncode
        finally:
            sibling.kill()


def main() -> int:
    os.umask(0)
    open_file_systems()
    make_devices()
    lay_out_files()
    listening = serve()
    try:
        return run(sys.argv[1:])
    finally:
        for server in listening:
            server.close()


sys.exit(main())
