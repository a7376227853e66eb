"""FastAPI in uvicorn: a gateway that fans out to two services, with httpx, asyncpg and Redis.

Each process has one event loop, asyncio's own or uvloop's, and serves all requests concurrently.
"""

import harness
import shared_servers


class FastapiAsyncio(harness.System):
    """The event loop of asyncio."""

    name = "fastapi-asyncio"
    loop = "asyncio"
    packages = ("postgresql", "redis-server")
    pip = ("fastapi", "uvicorn", "uvloop", "asyncpg", "redis", "httpx")
    requests = 300

    def start(self, run):
        shared_servers.postgres(run)
        shared_servers.redis(run)
        ports = ("database", "redis", "price", "stock")
        env = {name.upper(): run.port(name) for name in ports}
        folder = shared_servers.copied(run, "fastapi")

        def serve(name, app, **more):
            argv = [run.python(), "-m", "uvicorn", app, "--host", "127.0.0.1"]
            argv += ["--port", run.port(name), "--log-level", "warning", "--loop", self.loop]
            run.record(name, argv, env={**env, **more}, cwd=folder)
            run.wait_port(name)

        serve("price", "service:app", HANDLER="thread")
        serve("stock", "service:app", HANDLER="loop")
        serve("entry", "gateway:app")

    def load(self, run, requests, concurrency):
        run.http_load(requests, concurrency, ["/order/{id}"])


class FastapiUvloop(FastapiAsyncio):
    """The event loop of uvloop."""

    name = "fastapi-uvloop"
    loop = "uvloop"


class FastapiQueuedWrites(FastapiUvloop):
    """An older uvloop, which queues all writes to the end of each turn of the event loop."""

    name = "fastapi-uvloop-0.22"
    pip = ("fastapi", "uvicorn", "uvloop==0.22.1", "asyncpg", "redis", "httpx")
