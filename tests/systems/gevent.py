"""Flask in gunicorn with workers of gevent: a greenlet for each request, and some that it starts.

All of a process runs in one thread.
"""

import harness
import shared_servers


class Gevent(harness.System):
    """Two services with one worker each, Postgres and Redis."""

    name = "gevent"
    packages = ("postgresql", "redis-server")
    pip = ("flask", "gunicorn", "gevent", "requests", "pg8000", "redis", "packaging")
    requests = 300

    def start(self, run):
        shared_servers.postgres(run)
        shared_servers.redis(run)
        env = {name.upper(): run.port(name) for name in ("database", "redis", "stock")}
        for name, app in (("stock", "stock"), ("entry", "gateway")):
            shared_servers.gunicorn(
                run, name, f"gevent/{app}:app", name, workers=1, env=env, kind="gevent"
            )
            run.wait_port(name)

    def load(self, run, requests, concurrency):
        run.http_load(requests, concurrency, ["/order/{id}"])
