"""aiohttp: a gateway with a service, asyncpg and Redis, whose pools have fewer connections than
there are requests at once, so that calls wait for those of other requests.
"""

import harness
import shared_servers


class Aiohttp(harness.System):
    """Both programs have one event loop of asyncio."""

    name = "aiohttp"
    packages = ("postgresql", "redis-server")
    pip = ("aiohttp", "asyncpg", "redis")
    requests = 300

    def start(self, run):
        shared_servers.postgres(run)
        shared_servers.redis(run)
        ports = ("database", "redis", "stock", "entry")
        env = {name.upper(): run.port(name) for name in ports}
        folder = shared_servers.copied(run, "aiohttp")
        for name, script in (("stock", "stock.py"), ("entry", "gateway.py")):
            run.record(name, [run.python(), script], env=env, cwd=folder)
            run.wait_port(name)

    def load(self, run, requests, concurrency):
        run.http_load(requests, concurrency, ["/order/{id}"])
