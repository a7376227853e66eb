"""An event loop with a pool of connections: each request makes exactly one call.

usage: event_loop.py REQUESTS CONCURRENCY

Three processes: clients, each a thread that waits; the front, an asyncio server of one thread that
computes for a millisecond before its call and after it, and sometimes lets other tasks run first;
and the back, an asyncio server that responds at once. Each request has a number in its line.
"""

import asyncio
import os
import random
import signal
import socket
import sys
import threading
import time

POOL = 10


def compute(seconds):
    """Keeps the thread busy."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


async def serve(listener, respond):
    """Responds to each line of each connection, until the process is ended."""

    async def connection(reader, writer):
        while line := await reader.readline():
            writer.write(await respond(line))

    async with await asyncio.start_server(connection, sock=listener) as server:
        await server.serve_forever()


async def back(listener):
    """The server that is called."""

    async def respond(line):
        return b"back " + line

    await serve(listener, respond)


async def front(listener, address):
    """The server that calls."""
    pool, chance = asyncio.LifoQueue(), random.Random(2)
    for _ in range(POOL):
        pool.put_nowait(await asyncio.open_connection(*address))

    async def respond(line):
        compute(0.001)
        if chance.random() < 0.5:
            await asyncio.sleep(0)
        reader, writer = connection = await pool.get()
        writer.write(line)
        await reader.readline()
        pool.put_nowait(connection)
        compute(0.001)
        return b"front " + line

    await serve(listener, respond)


def started(work):
    """Starts a process that does `work`, which is a coroutine."""
    process = os.fork()
    if process == 0:
        try:
            asyncio.run(work())
        finally:
            os._exit(0)
    return process


def main():
    """Starts both servers, is the clients, and ends the servers."""
    requests, concurrency = map(int, sys.argv[1:])
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
    front_address, back_address = (listener.getsockname() for listener in listeners)
    processes = [
        started(lambda: back(listeners[1])),
        started(lambda: front(listeners[0], back_address)),
    ]
    numbers, lock = iter(range(100000, 100000 + requests)), threading.Lock()

    def client():
        with socket.create_connection(front_address) as connection:
            responses = connection.makefile("rb")
            while True:
                with lock:
                    number = next(numbers, None)
                if number is None:
                    return
                connection.sendall(b"request N%06dX\n" % number)
                responses.readline()

    clients = [threading.Thread(target=client) for _ in range(concurrency)]
    for thread in clients:
        thread.start()
    for thread in clients:
        thread.join()
    # A server that has sent its last response has yet to record it.
    time.sleep(0.2)
    for process in processes:
        os.kill(process, signal.SIGTERM)


main()
