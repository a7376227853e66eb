"""Django in gunicorn, with Postgres and Redis.

It is a control: each of its processes does one thing at a time, so the correct paths are obvious.
"""

import subprocess

import harness
import server_logs
import shared_servers


class Django(harness.System):
    """Four processes, each with a persistent connection to the database, and Django's cache."""

    name = "django"
    packages = ("postgresql", "redis-server")
    pip = ("django", "gunicorn", "psycopg2-binary", "redis")
    requests = 300

    def start(self, run):
        shared_servers.postgres(run, statements=None)
        shared_servers.redis(run)
        env = {"DATABASE_PORT": str(run.port("database")), "REDIS_PORT": str(run.port("redis"))}
        folder = shared_servers.copied(run, "django_shop")
        command = [run.python(), "-c", "import shop; shop.make_tables()"]
        subprocess.run(command, env=env, cwd=folder, check=True)
        shared_servers.gunicorn(
            run, "web", "django_shop/shop:application", "entry", workers=4, env=env
        )
        run.wait_port("entry")

    def load(self, run, requests, concurrency):
        run.http_load(requests, concurrency, ["/page/{id}"])

    def logged_requests(self, log):
        return {
            "entry": server_logs.access(log / "web.log"),
            "database": server_logs.postgres(log / "postgres.log"),
            "redis": server_logs.redis(log / "redis-redis.counts"),
        }
