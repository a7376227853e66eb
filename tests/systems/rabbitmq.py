"""RabbitMQ between a web application and a service: calls with replies, and jobs without.

Calls go from aiohttp to an event loop, both with aio-pika, each over one connection. Jobs go from
Flask to worker processes, with pika; the workers' calls belong to the request that left the job.
"""

import time

import harness
import shared_servers


class RabbitmqRpc(harness.System):
    """Calls (reply_to, correlation_id), of which the service serves up to eight at once."""

    name = "rabbitmq-rpc"
    packages = ("postgresql", "redis-server", "rabbitmq-server")
    pip = ("aiohttp", "aio-pika", "asyncpg", "redis")
    # Messages are published without waiting for others, so each is a separate exchange.
    multiplexed = ("broker",)
    requests = 300

    def start(self, run):
        shared_servers.postgres(run)
        shared_servers.redis(run)
        shared_servers.rabbitmq(run)
        env = {name.upper(): run.port(name) for name in ("database", "redis", "broker", "entry")}
        self.start_applications(run, env, shared_servers.copied(run, "rabbitmq"))
        run.wait_port("entry")

    def start_applications(self, run, env, folder):
        """The service and the web application."""
        start_ready(run, "service", "service.py", env, folder)
        run.record("web", [run.python(), "web.py"], env=env, cwd=folder)

    def load(self, run, requests, concurrency):
        run.http_load(requests, concurrency, ["/order/{id}"])


class RabbitmqJobs(RabbitmqRpc):
    """Jobs that the broker confirms; two workers, each of which takes one at a time."""

    name = "rabbitmq-jobs"
    pip = ("flask", "gunicorn", "pika", "psycopg2-binary", "redis")

    def start_applications(self, run, env, folder):
        for name in ("worker-1", "worker-2"):
            start_ready(run, name, "jobs_worker.py", env, folder)
        shared_servers.gunicorn(
            run, "web", "rabbitmq/jobs_web:app", "entry", workers=2, threads=4, env=env
        )

    def load(self, run, requests, concurrency):
        super().load(run, requests, concurrency)
        # Jobs are done after the responses.
        logs = [run.log / f"{name}.log" for name in ("worker-1", "worker-2")]
        run.wait_until(
            lambda: sum(log.read_text().count("wrote") for log in logs) >= requests,
            "the workers do not get through",
        )
        time.sleep(0.2)


def start_ready(run, name, script, env, folder):
    """Starts a program, and returns when it has printed that it is ready."""
    run.record(name, [run.python(), script], env=env, cwd=folder)
    log = run.log / f"{name}.log"
    run.wait_until(lambda: "ready" in log.read_text(), f"{name} is not ready")
