"""Starlette on trio, served by hypercorn: a gateway and a service, with httpx and a pool for Redis.

Trio's tasks are no tasks of asyncio, and its event loop runs those that are ready in random order.
"""

import harness
import shared_servers


class HypercornTrio(harness.System):
    """Gateway -> service and Redis; service -> Redis."""

    name = "hypercorn-trio"
    packages = ("redis-server",)
    pip = ("hypercorn", "starlette", "httpx", "trio")
    requests = 300

    def start(self, run):
        shared_servers.redis(run)
        env = {name.upper(): run.port(name) for name in ("redis", "stock")}
        folder = shared_servers.copied(run, "hypercorn_trio")
        for name in ("stock", "entry"):
            argv = [run.python(), "-m", "hypercorn", "--worker-class", "trio", "--log-level", "warning"]
            argv += ["--bind", f"127.0.0.1:{run.port(name)}", "shop:app"]
            run.record(name, argv, env=env, cwd=folder)
            run.wait_port(name)

    def load(self, run, requests, concurrency):
        run.http_load(requests, concurrency, ["/order/{id}"])
