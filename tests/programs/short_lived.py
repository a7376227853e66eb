"""Processes that come and go and always have messages in flight: each is a child that sends
messages over a socket pair, from several threads, and ends after a while, until the file named in
the argument exists. With two further directories, each process links its own logs from the first
into the second before it ends: a process that has not ended is not removed, so none is missed,
however busy the machine is.
"""

import os
import random
import socket
import sys
import threading
import time


def talk(seconds):
    one, other = socket.socketpair()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        for _ in range(50):
            one.send(b"x" * random.randrange(1, 5000))
            other.recv(8192)
        time.sleep(0.001)


def keep(logs, kept):
    for name in os.listdir(logs):
        if name.startswith(f"{os.getpid()}-"):
            os.link(os.path.join(logs, name), os.path.join(kept, name))


def child(seconds, directories):
    threads = [threading.Thread(target=talk, args=(seconds,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if directories:
        keep(*directories)


def main():
    end, *directories = sys.argv[1:]
    random.seed(7)
    children = set()
    while not os.path.exists(end):
        while len(children) < 3:
            seconds = random.choice([0.05, 0.2, 1.0, 4.0])
            pid = os.fork()
            if pid == 0:
                child(seconds, directories)
                sys.exit(0)
            children.add(pid)
        pid, _ = os.waitpid(-1, 0)
        children.discard(pid)
    for pid in children:
        os.waitpid(pid, 0)
    if directories:
        keep(*directories)


main()
