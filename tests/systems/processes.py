"""Processes that a run starts, and ending all of them, including daemons."""

import ctypes
import os
import signal
import subprocess
import time


def adopt_orphans():
    """Makes daemons with ended parents children of this process, so that none is lost."""
    set_child_subreaper = 36
    if ctypes.CDLL(None, use_errno=True).prctl(set_child_subreaper, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "cannot adopt orphaned processes")


def descendants():
    """The process ids below this process, parents before their children."""
    children = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as stat:
                parent = int(stat.read().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
        children.setdefault(parent, []).append(int(entry))
    found = list(children.get(os.getpid(), []))
    for pid in found:
        found.extend(children.get(pid, []))
    return found


def reap():
    """Reaps the children that have ended, so that they do not remain zombies."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return


def send_signal(pids, number):
    """Sends a signal to the processes that still exist."""
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def end_all(patience=5.0):
    """Ends everything below this process: with SIGTERM first, and kills what has not ended in time.
    """
    for number, wait in ((signal.SIGTERM, patience), (signal.SIGKILL, 5.0)):
        send_signal(descendants(), number)
        until = time.monotonic() + wait
        while time.monotonic() < until:
            reap()
            if not descendants():
                return
            time.sleep(0.02)
    raise RuntimeError(f"processes that cannot be ended: {descendants()}")


def end(process, patience=5.0):
    """Ends one process and its group, and returns its exit status."""
    for number, wait in ((signal.SIGTERM, patience), (signal.SIGKILL, 5.0)):
        if process.poll() is None:
            try:
                os.killpg(process.pid, number)
            except ProcessLookupError:
                pass
        try:
            return process.wait(wait)
        except subprocess.TimeoutExpired:
            continue
    raise RuntimeError(f"process {process.pid} cannot be ended")
