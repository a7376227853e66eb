"""Django's async views in uvicorn: a gateway and a service, with httpx, psycopg and redis.asyncio.

Each process has one event loop of asyncio. Django runs each request in a task of its own.
"""

import harness
import shared_servers


class DjangoAsgi(harness.System):
    """Gateway -> service, Postgres and Redis; service -> Redis."""

    name = "django-asgi"
    packages = ("postgresql", "redis-server")
    pip = ("django", "uvicorn", "httpx", "psycopg[binary]", "psycopg-pool", "redis")
    requests = 300

    def start(self, run):
        shared_servers.postgres(run)
        shared_servers.redis(run)
        env = {name.upper(): run.port(name) for name in ("database", "redis", "stock")}
        folder = shared_servers.copied(run, "django_asgi")
        for name in ("stock", "entry"):
            argv = [run.python(), "-m", "uvicorn", "shop:application", "--host", "127.0.0.1"]
            argv += ["--port", run.port(name), "--log-level", "warning", "--lifespan", "off"]
            run.record(name, [*argv, "--loop", "asyncio"], env=env, cwd=folder)
            run.wait_port(name)

    def load(self, run, requests, concurrency):
        run.http_load(requests, concurrency, ["/order/{id}"])
