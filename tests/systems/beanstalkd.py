"""A web application that leaves jobs at beanstalkd, and a worker with four threads.

The web application responds when beanstalkd has the job. The worker's calls to Postgres and Redis
then belong to the request that left the job.
"""

import time

import harness
import shared_servers


class Beanstalkd(harness.System):
    """Jobs whose only content is the id; a worker deletes them by their number."""

    name = "beanstalkd"
    packages = ("postgresql", "redis-server", "beanstalkd")
    pip = ("flask", "gunicorn", "greenstalk", "psycopg2-binary", "redis")
    deliveries = ("broker",)
    requests = 300

    def start(self, run):
        shared_servers.postgres(run)
        shared_servers.redis(run)
        run.record("beanstalkd", ["beanstalkd", "-l", "127.0.0.1", "-p", run.port("broker")])
        run.wait_port("broker")
        env = {name.upper(): run.port(name) for name in ("database", "redis", "broker")}
        folder = shared_servers.copied(run, "beanstalkd")
        run.record("worker", [run.python(), "worker.py"], env=env, cwd=folder)
        shared_servers.gunicorn(
            run, "web", "beanstalkd/web:app", "entry", workers=2, threads=4, env=env
        )
        run.wait_port("entry")

    def load(self, run, requests, concurrency):
        run.http_load(requests, concurrency, ["/order/{id}"])
        # Jobs are done after the responses.
        log = run.log / "worker.log"
        run.wait_until(
            lambda: log.read_text().count("wrote") >= requests, "the worker does not get through"
        )
        time.sleep(0.2)
