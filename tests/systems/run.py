#!/usr/bin/env python3
"""Runs real systems under load, recorded by sockcap, and scores sockcap's results.

usage: run.py [NAME...] [--at C...] [--requests N] [--keep DIR | --reuse DIR] [--json FILE] [--hops]
              [--names] [--check]

NAME is a system, or a module with several. Without one all are run. The folder of sockcap's
programs is SOCKCAP_BIN, or else the folder of target/ that SOCKCAP_PROFILE names: release by
default, or debug. It needs root, for tcpdump and for servers with users of their own.
"""

import argparse
import importlib.util
import inspect
import json
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path

import harness
import names
import score
import table

# Minimum share of the calls that must be attributed to the right request, by system and by the number
# of concurrent requests.
MIN_SHARES = {
    "actix": {1: 0.99, 8: 0.99, 32: 0.93},
    "asyncio": {1: 0.99},
    "axum": {1: 0.99},
    "axum-protocols": {1: 0.995, 8: 0.99, 32: 0.97},
    "beanstalkd": {1: 0.99, 8: 0.99, 32: 0.97},
    "bullmq": {1: 0.9},
    "celery-rabbitmq": {1: 0.95, 8: 0.9},
    "celery-redis": {1: 0.93, 8: 0.9},
    "chain-in-turn": {1: 0.995, 8: 0.97, 32: 0.97},
    "django": {1: 0.995, 8: 0.99},
    "django-asgi": {1: 0.999, 8: 0.995, 32: 0.99},
    "event-loops": {1: 0.999, 8: 0.995, 32: 0.98},
    "express": {1: 0.99},
    "fastapi-asyncio": {1: 0.999, 8: 0.995, 32: 0.99},
    "fastapi-uvloop": {1: 0.999, 8: 0.995, 32: 0.99},
    "fastify": {1: 0.999, 8: 0.98, 32: 0.97},
    "ftp": {1: 0.995, 8: 0.97},
    "ftp-shared": {1: 0.995, 8: 0.97},
    "gevent": {32: 0.99},
    "go-grpc": {1: 0.995, 8: 0.995, 50: 0.995},
    "go-shop": {1: 0.995, 8: 0.995, 50: 0.995},
    "grpc-node": {1: 0.995, 8: 0.995, 50: 0.995},
    "grpc-python": {1: 0.995, 8: 0.99, 50: 0.99},
    "grpc-rust": {1: 0.995, 8: 0.99, 50: 0.99},
    "hypercorn-trio": {1: 0.999, 8: 0.995, 32: 0.99},
    "java-executor": {1: 0.999, 8: 0.995, 32: 0.99},
    "java-virtual": {1: 0.999, 8: 0.995, 32: 0.99},
    "java-virtual-fork": {1: 0.999, 8: 0.995, 32: 0.99},
    "jetty": {1: 0.999, 8: 0.995, 32: 0.99},
    "mail": {1: 0.95},
    "mosquitto": {1: 0.97, 8: 0.75},
    "netty": {1: 0.999, 8: 0.995, 32: 0.99},
    "node-cluster": {1: 0.99, 8: 0.99, 32: 0.98},
    "node-threads": {1: 0.99},
    "php-apache": {1: 0.995, 8: 0.97},
    "php-fpm": {1: 0.995, 8: 0.97},
    "pool-cpp": {8: 0.97, 50: 0.99},
    "pool-cpp-writer": {1: 0.99, 8: 0.97, 50: 0.99},
    "pool-java": {50: 0.99},
    "pool-java-writer": {8: 0.95, 50: 0.98},
    "pool-python": {50: 0.98},
    "pool-python-writer": {50: 0.98},
    "pool-rust": {50: 0.98},
    "pool-rust-writer": {50: 0.96},
    "puma": {1: 0.99, 8: 0.97},
    "rabbitmq-jobs": {1: 0.99, 8: 0.98, 32: 0.97},
    "rabbitmq-rpc": {1: 0.97},
    "redis-list": {1: 0.99, 8: 0.99, 32: 0.98},
    "redis-list-jobs": {1: 0.99, 8: 0.98, 32: 0.97},
    "sanic": {1: 0.999, 8: 0.995, 32: 0.99},
    "ssh-command": {1: 0.99, 8: 0.9},
    "ssh-tunnel": {1: 0.99},
    "streaming-buffered": {1: 0.99, 8: 0.97},
    "streaming-duplex": {1: 0.99, 8: 0.93},
    "streaming-unbuffered": {1: 0.99, 8: 0.97},
    "ten-hosts": {1: 0.99, 8: 0.97, 32: 0.95},
    "tomcat": {1: 0.995, 8: 0.97},
    "uwsgi": {1: 0.995, 8: 0.97},
}

# Modules of this folder that are no systems.
OWN_MODULES = {"harness", "mariadb", "names", "processes", "requests_on_wire", "run", "score", "server_logs", "table", "wire"}


def systems():
    """All systems by name, each with the name of its module."""
    found = {}
    for path in sorted(harness.HERE.glob("*.py")):
        if path.stem in OWN_MODULES:
            continue
        # By path, as a module may have the name of a library that the system uses.
        spec = importlib.util.spec_from_file_location(f"system_{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        for _, kind in inspect.getmembers(module, inspect.isclass):
            if issubclass(kind, harness.System) and kind.name and kind.__module__ == spec.name:
                found[kind.name] = (path.stem, kind)
    return found


def chosen(names, known):
    """The systems of these names, or all."""
    result = []
    for name in names or known:
        of_name = [kind for own, (module, kind) in known.items() if name in (own, module)]
        if not of_name:
            sys.exit(f"no system is called {name}; there are {', '.join(known)}")
        result += [kind for kind in of_name if kind not in result]
    return result


def main():
    """Runs or rescores the systems, and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--at", nargs="+", type=int, default=[1, 8], help="concurrent requests")
    parser.add_argument("--requests", type=int, help="how many requests [default: the system's]")
    parser.add_argument("--keep", type=Path, help="keep the recordings in this folder")
    parser.add_argument("--reuse", type=Path, help="score recordings of this folder again")
    parser.add_argument("--options", default="", help="options for `sockcap analyze`")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--check", action="store_true", help="fail if fewer calls are right than MIN_SHARES requires")
    parser.add_argument("--names", dest="with_names", action="store_true", help="record operations of messages, and compare them with the servers' logs")
    parser.add_argument("--hops", action="store_true", help="also figures by port, and errors")
    arguments = parser.parse_args()

    scores = []
    failed = False
    for kind in chosen(arguments.names, systems()):
        for concurrency in arguments.at:
            try:
                one = measure_with_retry(kind, concurrency, arguments)
            except Exception as error:  # Other systems are still worth running.
                print(f"{kind.name} at {concurrency}: {error}", file=sys.stderr)
                failed = True
                continue
            if one is not None:
                scores.append(one)
                row = table.markdown(table.HEAD, table.rows([one])).splitlines()[-1]
                print(row, file=sys.stderr)
    print(table.markdown(table.HEAD, table.rows(scores)))
    if arguments.hops:
        head = ("system", "at once", "port", "calls known", "calls seen", "calls right")
        print("\n" + table.markdown(head, table.hop_rows(scores)) + "\n")
        print("\n".join(table.wrong_lines(scores)))
    named = [row for one in scores for row in one.get("names", [])]
    if arguments.with_names:
        print("\n" + table.markdown(table.NAMES_HEAD, table.names_rows(named)))
    if arguments.json:
        arguments.json.write_text(json.dumps(scores, indent=2) + "\n")
    if arguments.check:
        for line in [*too_few(scores), *wrongly_named(named)]:
            print(line, file=sys.stderr)
            failed = True
    return 1 if failed or not scores else 0


def too_few(scores):
    """A line for each system with fewer calls attributed to the right request than required."""
    for one in scores:
        least = MIN_SHARES.get(one["system"], {}).get(one["concurrency"])
        share = one["calls_right"] / one["calls_known"] if one["calls_known"] else 0
        if least is not None and share < least:
            yield f"{one['system']} at {one['concurrency']}: {share:.1%} of calls are right, and {least:.1%} must be"


def wrongly_named(rows):
    """Lines for the ports at which sockcap and the server's own log differ."""
    for row in rows:
        of = f"{row['system']} at {row['concurrency']}, {row['port']}"
        if row["right"] < row["least"] * row["requests"]:
            yield from (f"{of}: missing: {one}" for one in row["missing"][:5])
        yield from (f"{of}: not logged: {one}" for one in row["wrong"][:5])


def measure_with_retry(kind, concurrency, arguments):
    """The score of a system. A run that could not be recorded completely, as the machine was too
    busy for tcpdump, is repeated once; a scored run is never repeated.
    """
    try:
        return measured(kind(), concurrency, arguments)
    except Exception as error:
        print(f"{kind.name} at {concurrency}: {error}; once more", file=sys.stderr)
        return measured(kind(), concurrency, arguments)


def measured(system, concurrency, arguments):
    """The score of a system at a concurrency; None if its recording is missing."""
    folder = f"{system.name}-{concurrency}"
    if arguments.reuse:
        kept = arguments.reuse / folder
        return scored(system, kept, arguments) if (kept / "run.json").exists() else None
    cache = harness.CACHE / system.name
    cache.mkdir(parents=True, exist_ok=True)
    system.prepare(cache)
    # Servers that run as other users must reach their files, so it is not below a user's folder.
    work = Path(tempfile.mkdtemp(prefix="sockcap-system-"))
    work.chmod(0o755)
    try:
        run = harness.Run(system, work, arguments.requests or system.requests, concurrency, arguments.with_names)
        run.execute()
        figures = scored(system, work, arguments)
    except BaseException:
        if arguments.keep:
            keep(work, arguments.keep / f"{folder}-failed")
        raise
    else:
        if arguments.keep:
            keep(work, arguments.keep / folder)
        return figures
    finally:
        shutil.rmtree(work, ignore_errors=True)


def scored(system, folder, arguments):
    """All figures of a run."""
    figures = score.score(folder, arguments.options)
    if arguments.with_names:
        figures["names"] = names.score(system, folder)
    return figures


def keep(work, target):
    """Moves a run to its final place, without the servers' own files."""
    shutil.rmtree(work / "state", ignore_errors=True)
    shutil.rmtree(target, ignore_errors=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(work, target)


if __name__ == "__main__":
    if os.geteuid() != 0 and "--reuse" not in sys.argv:
        sys.exit("run.py takes root, for tcpdump and for servers that have users of their own")
    # A signal that ends this program from outside ends the servers too, as from the keyboard.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    sys.exit(main())
