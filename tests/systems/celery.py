"""A web application that leaves jobs for workers at a broker: Flask, Celery, and Redis or RabbitMQ.

The web application responds as soon as the job is at the broker. The worker's calls to the
database and the cache then belong to the request that produced the job: producer, broker and
worker are one path. The pool's processes get their jobs from the worker's main process through
pipes.
"""

import time

import harness
import server_logs
import shared_servers


class CeleryRedis(harness.System):
    """Redis as the broker, as the result store, and as the cache of both sides."""

    name = "celery-redis"
    packages = ("postgresql", "redis-server")
    pip = ("celery[redis]", "packaging", "flask", "gunicorn", "psycopg2-binary")
    deliveries = ("redis",)
    requests = 300

    def start(self, run):
        shared_servers.postgres(run)
        shared_servers.redis(run, "redis")
        self.start_applications(run, {
            "BROKER": f"redis://127.0.0.1:{run.port('redis')}/1",
            "RESULTS": f"redis://127.0.0.1:{run.port('redis')}/2",
        })

    def start_applications(self, run, env):
        """The web application and the worker."""
        env["CACHE_PORT"] = run.port("redis")
        env["DATABASE"] = (
            f"host=127.0.0.1 port={run.port('database')} user=postgres dbname=postgres"
        )
        shared_servers.gunicorn(run, "web", "jobs/web:app", "entry", workers=4, env=env)
        argv = [run.python(), "-m", "celery", "-A", "tasks", "worker"]
        argv += ["--concurrency", 4, "--loglevel", "INFO"]
        run.record("worker", argv, env=env, cwd=shared_servers.copied(run, "jobs"))
        run.wait_port("entry")
        log = run.log / "worker.log"
        run.wait_until(lambda: " ready." in log.read_text(), "the worker is not ready", 60)

    def load(self, run, requests, concurrency):
        run.http_load(requests, concurrency, ["/order/{id}"])
        # The jobs continue after the responses, and are a part of the measurement.
        log = run.log / "worker.log"

        def done():
            return log.read_text().count(" succeeded in ") >= requests

        run.wait_until(done, "the worker does not get through its jobs", 60)
        time.sleep(0.2)

    def logged_requests(self, log):
        # Not Redis: jobs are so long that most of a pipeline is beyond the kept bytes.
        return {
            "entry": server_logs.access(log / "web.log"),
            "database": server_logs.postgres(log / "postgres.log"),
        }


class CeleryRabbitmq(CeleryRedis):
    """RabbitMQ as the broker; Redis is only the cache, and no results are kept."""

    name = "celery-rabbitmq"
    packages = ("postgresql", "redis-server", "rabbitmq-server")
    # Jobs are published without a response, so each is a separate exchange.
    multiplexed = ("broker",)
    deliveries = ()

    def start(self, run):
        shared_servers.postgres(run)
        shared_servers.redis(run, "redis")
        shared_servers.rabbitmq(run)
        address = f"127.0.0.1:{run.port('broker')}"
        self.start_applications(run, {"BROKER": f"amqp://guest:guest@{address}//"})
