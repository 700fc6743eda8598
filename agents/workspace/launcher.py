"""Runs one command within limits and behind a wall, and leaves no process behind.

Place in the house: ``agents.workspace``; a program of its own, started as ``python -I launcher.py``
with one JSON object as argument: ``root``, ``argv``, ``wall`` (landlock, bubblewrap or none),
``seconds``, ``memory_bytes``, ``file_bytes``, ``processes``. Standard library only. It stays
outside of the wall, adopts whatever the command leaves running, and ends all of it.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import sys
import time

LIBC = ctypes.CDLL(None, use_errno=True)
PR_SET_NO_NEW_PRIVS, PR_SET_CHILD_SUBREAPER, PR_SET_PDEATHSIG = 38, 36, 1
CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
RULE_PATH_BENEATH = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE, IOCTL = 1, 2, 4, 8, 1 << 14, 1 << 15
ALL_OF_VERSION = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
READABLE = (
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt", "/etc/alternatives",
    "/etc/ld.so.cache", "/etc/localtime", "/etc/ssl/certs", "/etc/mime.types",
)  # fmt: skip
"""What a command may read besides its workspace: programs and their libraries."""

DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random", "/dev/full")

TIMED_OUT, NO_WALL = 124, 125


NEW_USER, NEW_MOUNTS, NEW_NETWORK, NEW_IPC = 0x10000000, 0x20000, 0x40000000, 0x08000000
BIND, RECURSIVE, PRIVATE = 0x1000, 0x4000, 0x40000
MOUNT_SETATTR, HERE, ALL_BELOW, READ_ONLY = 442, -100, 0x8000, 1


class MountAttributes(ctypes.Structure):
    """``struct mount_attr`` of the kernel."""

    _fields_ = (
        ("set", ctypes.c_uint64),
        ("cleared", ctypes.c_uint64),
        ("propagation", ctypes.c_uint64),
        ("namespace", ctypes.c_uint64),
    )


class Ruleset(ctypes.Structure):
    """``struct landlock_ruleset_attr`` of the kernel."""

    _fields_ = (
        ("fs", ctypes.c_uint64),
        ("net", ctypes.c_uint64),
        ("scoped", ctypes.c_uint64),
    )


class PathRule(ctypes.Structure):
    """``struct landlock_path_beneath_attr`` of the kernel."""

    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32))


def landlock_version() -> int:
    """The version of Landlock that the kernel offers; 0 for none."""
    version = LIBC.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(1))
    return max(int(version), 0)


def leave_network_and_mounts(root: str) -> None:
    """See the rest of the machine as read-only, and no network: what Landlock does not cover, such
    as the modes of files. Nothing where the kernel keeps such namespaces from ordinary users.
    """
    own_ids = [("uid_map", os.getuid()), ("gid_map", os.getgid())]
    if LIBC.unshare(NEW_USER | NEW_MOUNTS | NEW_NETWORK | NEW_IPC) < 0:
        return
    _write("/proc/self/setgroups", "deny")
    for name, number in own_ids:
        _write(f"/proc/self/{name}", f"{number} {number} 1")
    place = root.encode()
    _checked(LIBC.mount(None, b"/", None, RECURSIVE | PRIVATE, None))
    _checked(LIBC.mount(place, place, None, BIND, None))
    _set_mount(b"/", MountAttributes(set=READ_ONLY), ALL_BELOW)
    _set_mount(place, MountAttributes(cleared=READ_ONLY), 0)


def _set_mount(path: bytes, attributes: MountAttributes, flags: int) -> None:
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    _checked(LIBC.syscall(MOUNT_SETATTR, HERE, path, flags, ctypes.byref(attributes), size))


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def build_wall(root: str) -> None:
    """Let this process and its children touch the root, read programs, and nothing else: no other
    file, no TCP, no signal to those outside. Raises ``OSError``."""
    version = landlock_version()
    if version < 1:
        raise OSError("the kernel offers no Landlock")
    handled = ALL_OF_VERSION.get(version, (1 << 16) - 1)
    ruleset = Ruleset(fs=handled, net=3 if version >= 4 else 0, scoped=3 if version >= 6 else 0)
    size = {1: 8, 2: 8, 3: 8, 4: 16, 5: 16}.get(version, 24)
    place = _checked(LIBC.syscall(CREATE_RULESET, ctypes.byref(ruleset), ctypes.c_size_t(size), 0))
    _allow(place, root, handled)
    for path in READABLE:
        _allow(place, path, handled & (EXECUTE | READ_FILE | READ_DIR))
    for path in DEVICES:
        _allow(place, path, handled & (READ_FILE | WRITE_FILE | IOCTL | TRUNCATE))
    _checked(LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _checked(LIBC.syscall(RESTRICT_SELF, place, 0))
    os.close(place)


def _allow(ruleset: int, path: str, access: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    if not os.path.isdir(path):
        access &= EXECUTE | READ_FILE | WRITE_FILE | TRUNCATE | IOCTL
    rule = PathRule(allowed=access, folder=descriptor)
    _checked(LIBC.syscall(ADD_RULE, ruleset, RULE_PATH_BENEATH, ctypes.byref(rule), 0))
    os.close(descriptor)


def _checked(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def limit(order: dict[str, object]) -> None:
    """The limits of one process: memory, size of files, number of processes, no core dump."""
    for kind, value in (
        (resource.RLIMIT_AS, order["memory_bytes"]),
        (resource.RLIMIT_FSIZE, order["file_bytes"]),
        (resource.RLIMIT_NPROC, order["processes"]),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 256),
    ):
        most = resource.getrlimit(kind)[1]
        given = int(str(value))
        given = given if most == resource.RLIM_INFINITY else min(given, most)
        resource.setrlimit(kind, (given, given))


def descendants(parent: int) -> list[int]:
    """The processes below one, by ``/proc``."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="latin-1") as file:
                    above = int(file.read().rpartition(")")[2].split()[1])
            except (OSError, ValueError, IndexError):
                continue
            children.setdefault(above, []).append(int(name))
    found, waiting = [], [parent]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def end_all() -> None:
    """End every process below this one; those that were left behind have become its children."""
    for _ in range(50):
        below = descendants(os.getpid())
        if not below:
            return
        for pid in below:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        _reap()
        time.sleep(0.01)


def _reap() -> None:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return


def watch(child: int, order: dict[str, object]) -> int:
    """Wait for the command within its time and its number of processes; its exit code."""
    end = time.monotonic() + float(str(order["seconds"]))
    most = int(str(order["processes"]))
    while time.monotonic() < end:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            return os.waitstatus_to_exitcode(status)
        if len(descendants(os.getpid())) > most:
            sys.stderr.write(f"\nended: more than {most} processes\n")
            return TIMED_OUT
        time.sleep(0.02)
    sys.stderr.write(f"\nended: it took longer than {order['seconds']} seconds\n")
    return TIMED_OUT


def main() -> int:
    """Run the order of the first argument."""
    order = json.loads(sys.argv[1])
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(TIMED_OUT))
    child = os.fork()
    if child == 0:
        try:
            is_ours = order["wall"] == "landlock"
            if is_ours:
                leave_network_and_mounts(order["root"])
            os.chdir(order["root"])
            limit(order)
            if is_ours:
                build_wall(order["root"])
            os.execv(order["argv"][0], order["argv"])
        except OSError as error:
            sys.stderr.write(f"cannot start: {error}\n")
        os._exit(NO_WALL)
    try:
        return watch(child, order)
    finally:
        end_all()


if __name__ == "__main__":
    code = main()
    sys.exit(code if code >= 0 else 128 - code)
