"""Jobs that threads take from a broker over connections which they share.

usage: pooled_jobs.py JOBS

A producer pushes jobs faster than the worker does them. Each of the worker's threads takes a
connection to the broker out of a pool, waits on it for a job, puts it back, and makes two calls of
the job's store. Another thread may ask on the same connection before the job is done, so only the
thread shows whose calls these are.
"""

import os
import signal
import socket
import sys
import threading
import time

from local_processes import listening, started

THREADS, CONNECTIONS, CALLS = 4, 5, 2
JOB, POP, CALL, ANSWER = 180, 32, 24, 48


def received(connection, size):
    """Exactly so many bytes; fewer at the end of the connection."""
    return connection.recv(size, socket.MSG_WAITALL)


def serve(listener, answer):
    """Gives each connection a thread that answers."""
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=answer, args=(connection,), daemon=True).start()


def broker(listener):
    """Stores jobs, and gives the oldest to who asks; without jobs it waits."""
    changed, jobs = threading.Condition(), []

    def answer(connection):
        while kind := received(connection, 1):
            if kind == b"P":
                job = received(connection, JOB - 1)
                with changed:
                    jobs.append(job)
                    changed.notify()
                connection.sendall(b"+OK\r\n")
                continue
            received(connection, POP - 1)
            with changed:
                changed.wait_for(lambda: jobs)
                job = jobs.pop(0)
            connection.sendall(b"J" + job)

    serve(listener, answer)


def store(listener):
    """Answers a call after a millisecond."""

    def answer(connection):
        while received(connection, CALL):
            time.sleep(0.001)
            connection.sendall(b"a" * ANSWER)

    serve(listener, answer)


def worker(broker_address, store_address):
    """Does jobs in several threads."""
    pool = [socket.create_connection(broker_address) for _ in range(CONNECTIONS)]
    pooled = threading.Lock()

    def do_jobs():
        calls = socket.create_connection(store_address)
        while True:
            with pooled:
                connection = pool.pop()
            connection.sendall(b"B" * POP)
            if len(received(connection, JOB)) < JOB:
                return
            with pooled:
                pool.append(connection)
            for _ in range(CALLS):
                calls.sendall(b"c" * CALL)
                received(calls, ANSWER)

    threads = [threading.Thread(target=do_jobs) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main():
    """Starts all processes, is the producer, and ends them."""
    (broker_socket, broker_address), (store_socket, store_address) = listening(), listening()
    processes = [
        started(lambda: broker(broker_socket)),
        started(lambda: store(store_socket)),
        started(lambda: worker(broker_address, store_address)),
    ]
    time.sleep(0.5)
    producer = socket.create_connection(broker_address)
    for job in range(int(sys.argv[1])):
        producer.sendall(b"P" + b"j" * (JOB - 1))
        received(producer, 5)
        # Now and then all jobs get done.
        time.sleep(0.0005 if job % 20 else 0.03)
    time.sleep(1)
    for process in processes:
        os.kill(process, signal.SIGTERM)


main()
