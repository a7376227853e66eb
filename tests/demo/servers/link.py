#!/usr/bin/python3
"""A link between two hosts: COMMAND runs on one, and what it starts with `nsenter --net=$DEMO_FAR`
on the other. Their addresses are DEMO_NEAR_ADDRESS and DEMO_FAR_ADDRESS. The link delays each
packet.

usage: unshare --net link.py MICROSECONDS COMMAND...

Each host is a network namespace with a TUN device. This program carries the packets from one to
the other, like a wire: connections go from end to end, and neither end notices it. Everything is
removed when COMMAND ends. A kernel with netem could do the same; many have none.
"""
import ctypes
import fcntl
import heapq
import os
import select
import signal
import struct
import subprocess
import sys
import time

NEAR, FAR = "10.73.0.1", "10.73.0.2"
CLONE_NEWNET, PR_SET_PDEATHSIG = 0x40000000, 1
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000
libc = ctypes.CDLL(None, use_errno=True)


def device(here, there):
    """A TUN device in the namespace of this process, with an address."""
    file = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(file, TUNSETIFF, struct.pack("16sH22x", b"wire", IFF_TUN | IFF_NO_PI))
    for words in ("link set lo up", f"address add {here} peer {there} dev wire", "link set wire up"):
        subprocess.run(["ip", *words.split()], check=True)
    return file


def carry(delay, near, far):
    """Carries packets in both directions forever, each `delay` seconds after it was sent."""
    poll, other = select.poll(), {near: far, far: near}
    for end in other:
        poll.register(end, select.POLLIN)
    waiting, number = [], 0
    while True:
        timeout = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        # poll() counts in milliseconds; the last one is waited for here.
        if timeout is not None and timeout < 0.001:
            time.sleep(timeout)
            timeout = 0.0
        for end, _ in poll.poll(None if timeout is None else int(timeout * 1000)):
            packet = os.read(end, 65536)
            number += 1
            heapq.heappush(waiting, (time.monotonic() + delay, number, other[end], packet))
        while waiting and waiting[0][0] <= time.monotonic():
            _, _, end, packet = heapq.heappop(waiting)
            try:
                os.write(end, packet)
            except OSError:
                pass  # A wire drops packets that the other end cannot take.


def main():
    delay, command = int(sys.argv[1]) / 1e6, sys.argv[2:]
    is_ready, ready = os.pipe()
    link = os.fork()
    if link == 0:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        near = device(NEAR, FAR)
        if libc.unshare(CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "a network namespace could not be made")
        far = device(FAR, NEAR)
        try:
            # A wire does not wait for a processor.
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(2))
        except PermissionError:
            pass
        os.write(ready, b"1")
        carry(delay, near, far)
    os.close(ready)
    if not os.read(is_ready, 1):
        sys.exit("demo: the link could not be made")
    names = {"DEMO_FAR": f"/proc/{link}/ns/net", "DEMO_NEAR_ADDRESS": NEAR, "DEMO_FAR_ADDRESS": FAR}
    status = subprocess.run(command, env=os.environ | names).returncode
    os.kill(link, signal.SIGKILL)
    sys.exit(status)


main()
