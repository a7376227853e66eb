"""Sanic on uvloop: a gateway and a service, with aiohttp's client and asyncpg."""

import harness
import shared_servers


class Sanic(harness.System):
    """Gateway -> service and Postgres; service -> Postgres."""

    name = "sanic"
    packages = ("postgresql",)
    pip = ("sanic", "aiohttp", "asyncpg")
    requests = 300

    def start(self, run):
        shared_servers.postgres(run)
        env = {name.upper(): run.port(name) for name in ("database", "stock")}
        folder = shared_servers.copied(run, "sanic")
        for name in ("stock", "entry"):
            run.record(name, [run.python(), "shop.py", run.port(name)], env=env, cwd=folder)
            run.wait_port(name)

    def load(self, run, requests, concurrency):
        run.http_load(requests, concurrency, ["/order/{id}"])
