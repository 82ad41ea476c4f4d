# Shared by the scripts beside this file: turns a bare Debian host into one on which Deadheat runs. Source it.
#
#   bootstrap runtime|dev   everything: environment, Docker Engine, judge image; dies with a sentence if it cannot
#   make_venv runtime|dev   only .venv, from the lock file with hashes
#   ready_engine            only the Docker Engine and the judge image; returns 1 with `engine_problem` set
#   stop_own_engine         ends a dockerd that this very script started by hand; for `trap stop_own_engine EXIT`
#
# Each is quick and silent when there is nothing to do, and says what it is about to install before it does. All
# messages go to stderr, so that a script's output stays its own. The output of apt, pip, mmdebstrap and dockerd
# goes to data/logs/; its end is shown when one of them fails.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
logs=$root/data/logs
engine_record=$root/data/engine.pid
apparmor_enabled=/sys/module/apparmor/parameters/enabled
engine_problem=
engine_started=
# A bot's FIFOs belong to root, so that the bot's own user cannot open them.
engine_needs_root="bots are confined only when this runs as root: sudo $0"

say() { echo "==> $*" >&2; }
die() { echo "==> $*" >&2; exit 1; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# Runs a command with its output in data/logs/NAME.log.
logged() {
    local log=$logs/$1.log
    mkdir -p "$logs"
    if "${@:2}" >"$log" 2>&1 </dev/null; then return 0; fi
    say "This failed: ${*:2}"
    tail -n 25 "$log" >&2
    say "All of its output is in $log"
    return 1
}

# --- Debian packages ---------------------------------------------------------------------------------------------

# need_packages REASON PACKAGE...: installs those that are missing.
need_packages() {
    local reason=$1 package missing=()
    shift
    for package; do
        if ! dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q ' installed$'; then missing+=("$package"); fi
    done
    if [ ${#missing[@]} = 0 ]; then return 0; fi
    if ! command -v apt-get >/dev/null; then
        say "Please install ${missing[*]}: $reason. This is not Debian, so it cannot be done for you."
        return 1
    fi
    if [ "$(id -u)" != 0 ] && ! command -v sudo >/dev/null; then
        say "Debian packages are missing: ${missing[*]} ($reason). Run this again as root to install them."
        return 1
    fi
    say "Installing Debian packages: ${missing[*]} ($reason)"
    logged "apt-${missing[0]}" as_root "$root/scripts/install-packages" "${missing[@]}"
}

# --- Python environment ------------------------------------------------------------------------------------------

new_enough() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }

make_venv() {
    local kind=$1 lock=requirements.lock python made_from
    if [ "$kind" = dev ]; then lock=requirements-dev.lock; fi
    # Debian's own first, if there can be an environment of it: Pythons that a version manager has built without
    # optimizations need an eighth more CPU.
    python=/usr/bin/python3
    if ! new_enough "$python" || { [ "$(id -u)" != 0 ] && ! "$python" -c 'import ensurepip' 2>/dev/null; }; then
        python=$(command -v python3) || die "There is no python3 on the PATH; Python 3.11 or newer is needed."
        new_enough "$python" || die "Python 3.11 or newer is needed; $python is $("$python" -V)."
    fi
    # The folder and the interpreter are part of it: an environment does not survive a move or another Python.
    made_from="$root $("$python" -V) $(cat "$root"/requirements*.lock | sha256sum | cut -c1-64)"
    # The development lock contains the other one, so it serves both.
    case $(cat "$root/.venv/made-from" 2>/dev/null || true) in
    "$kind $made_from" | "dev $made_from") is_distribution || add_command; return 0 ;;
    esac

    if ! "$python" -c 'import ensurepip' 2>/dev/null; then
        need_packages "to make a virtual environment" python3-venv || exit 1
    fi
    say "Installing the Python packages of $lock into .venv (hashes are checked; about half a minute)"
    case $(cat "$root/.venv/made-from" 2>/dev/null || true) in
    *" $made_from") ;; # the runtime's packages are there already, and the development ones join them
    *) logged venv "$python" -m venv --clear "$root/.venv" || exit 1 ;;
    esac
    rm -f "$root/.venv/made-from"
    logged pip "$root/.venv/bin/pip" install --disable-pip-version-check --require-hashes -r "$root/$lock" || exit 1
    add_command
    echo "$kind $made_from" >"$root/.venv/made-from"
}

version() { sed -n 's/^__version__ = "\(.*\)"$/\1/p' "$root/src/deadheat/__init__.py"; }
is_distribution() { compgen -G "$root/.venv/lib/python3*/site-packages/deadheat-$(version).dist-info/RECORD" >/dev/null; }

# Makes our packages importable from anywhere and `deadheat` a command of the environment. This is what an editable
# install comes to, but nothing is copied. It also makes this a distribution for pip, which otherwise asks the index for
# `deadheat` if another package requires it, and installs whatever somebody has registered there under that name.
add_command() {
    local site_packages info
    site_packages=$("$root/.venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
    echo "$root/src" >"$site_packages/deadheat.pth"
    rm -rf "$site_packages"/deadheat-*.dist-info
    info=$(cd "$root" && .venv/bin/python -c 'import sys, hatchling.build as backend
print(backend.prepare_metadata_for_build_editable(sys.argv[1]))' "$site_packages")
    printf '%s,,\n' deadheat.pth ../../../bin/deadheat "$info/METADATA" "$info/RECORD" >"$site_packages/$info/RECORD"
    # The second and third line start the environment's Python and are a string to it; unlike a first line that names
    # it, they bear spaces in the path. pip does the same.
    cat >"$root/.venv/bin/deadheat" <<END
#!/bin/sh
'''exec' "$root/.venv/bin/python" "\$0" "\$@"
' '''
from deadheat.cli.main import app

if __name__ == "__main__":
    app(prog_name="deadheat")
END
    chmod +x "$root/.venv/bin/deadheat"
}

# --- Docker Engine -----------------------------------------------------------------------------------------------

engine_answers() { timeout 20 docker version --format '{{.Server.Version}}' >/dev/null 2>&1; }

ready_engine() {
    if [ "$(id -u)" != 0 ]; then engine_problem=$engine_needs_root; return 1; fi
    need_apparmor_parser
    if ! engine_answers; then start_engine || return 1; fi
    if ! "$root/deploy/images/build"; then
        engine_problem="the judge image could not be built"
        return 1
    fi
}

# Debian's engine only recommends this package, but starts no container without it if the kernel has AppArmor. An engine
# that does not need it, or is on another machine, must not fail without it: whether containers start shows soon enough.
need_apparmor_parser() {
    case $(cat "$apparmor_enabled" 2>/dev/null || true) in Y*) ;; *) return 0 ;; esac
    if command -v apparmor_parser >/dev/null; then return 0; fi
    need_packages "this kernel has AppArmor, and without its parser no container starts" apparmor || true
}

start_engine() {
    engine_problem="no Docker Engine answers, and none could be started"
    local why="no Docker Engine answers, and bots run in containers"
    command -v dockerd >/dev/null || need_packages "$why" docker.io || return 1
    # Up to Debian 12 docker.io brings the client; Debian 13 has a package of its own for it.
    command -v docker >/dev/null || need_packages "$why" docker-cli || return 1
    if engine_answers; then engine_problem=; return 0; fi
    if [ -d /run/systemd/system ]; then
        say "Starting the Docker Engine (systemctl start docker)"
        logged engine systemctl start docker || return 1
    else
        start_engine_by_hand
    fi
    local tries
    for ((tries = 0; tries < 120; tries++)); do
        if engine_answers; then engine_problem=; return 0; fi
        if [ -n "$engine_started" ] && ! kill -0 "$engine_started" 2>/dev/null; then break; fi
        sleep 0.5
    done
    if [ -n "$engine_started" ]; then
        say "dockerd did not come up. The end of $logs/dockerd.log:"
        tail -n 15 "$logs/dockerd.log" >&2
    fi
    return 1
}

# Without a service manager. Bots have no network, so this engine gets no bridge and leaves the host's packet filter
# and forwarding alone; it then needs nothing of them either, and can run beside another engine.
start_engine_by_hand() {
    local record
    if ! mountpoint -q /sys/fs/cgroup; then
        say "Mounting the control groups at /sys/fs/cgroup, which limit a bot's memory and processes"
        mount -t cgroup2 cgroup2 /sys/fs/cgroup || true
    fi
    # After a crash or a reboot these may name somebody else's process, which would be taken for a running engine.
    for record in /run/docker.pid /run/docker/containerd/containerd.pid; do
        case $(cat "/proc/$(cat "$record" 2>/dev/null || echo 0)/comm" 2>/dev/null || true) in
        dockerd | containerd) ;;
        *) rm -f "$record" ;;
        esac
    done
    mkdir -p "$logs"
    say "Starting dockerd by hand, as there is no systemd; its log is $logs/dockerd.log"
    # A session of its own: an interrupt from the keyboard is for the script, which then ends the engine cleanly.
    setsid dockerd --bridge=none --iptables=false --ip6tables=false --ip-forward=false --ip-masq=false \
        >"$logs/dockerd.log" 2>&1 </dev/null 8<&- &
    engine_started=$!
    echo "$engine_started" >"$engine_record"
}

# stop_engine PID: cleanly, and by force only when it does not end by itself.
stop_engine() {
    local tries
    kill "$1" 2>/dev/null || return 0
    for ((tries = 0; tries < 60; tries++)); do
        kill -0 "$1" 2>/dev/null || return 0
        sleep 0.5
    done
    kill -9 "$1" 2>/dev/null || true
}

stop_own_engine() {
    if [ -z "$engine_started" ]; then return 0; fi
    # Keepers of the tree that bots play in have no owner (sandbox/rooms.py).
    if timeout 20 docker ps --format '{{.Label "deadheat.resident"}}' 2>/dev/null | grep -q '^$'; then
        say "Leaving the Docker Engine running: someone else has containers on it (./scripts/bootstrap --stop-engine)"
        return 0
    fi
    stop_engine "$engine_started"
    rm -f "$engine_record"
    engine_started=
}

# --- All of it ---------------------------------------------------------------------------------------------------

# One at a time: two scripts started together must not make the same environment, engine or image twice.
bootstrap() {
    if [ "$(id -u)" != 0 ]; then die "Deadheat cannot run here: $engine_needs_root"; fi
    { flock 8; make_venv "$1"; ready_engine || die "Deadheat cannot run here: $engine_problem"; } 8<"$root/requirements.lock"
}
