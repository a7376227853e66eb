"""Lists of Redis between a web application and a service: calls with replies, and jobs without.

A call's reply is pushed to a list that is named by the request's id. The service has four threads.
"""

import time

import harness
import shared_servers


class RedisList(harness.System):
    """LPUSH of the order, BRPOP of its reply."""

    name = "redis-list"
    packages = ("postgresql", "redis-server")
    pip = ("flask", "gunicorn", "psycopg2-binary", "redis")
    deliveries = ("redis",)
    requests = 300
    path = "/order/{id}"

    def start(self, run):
        shared_servers.postgres(run)
        shared_servers.redis(run)
        env = {name.upper(): run.port(name) for name in ("database", "redis")}
        folder = shared_servers.copied(run, "redis_lists")
        run.record("service", [run.python(), "service.py"], env=env, cwd=folder)
        shared_servers.gunicorn(
            run, "web", "redis_lists/web:app", "entry", workers=2, threads=4, env=env
        )
        run.wait_port("entry")

    def load(self, run, requests, concurrency):
        run.http_load(requests, concurrency, [self.path])
        # The last reply is sent before the last line is written; jobs are done after the responses.
        log = run.log / "service.log"
        run.wait_until(
            lambda: log.read_text().count("wrote") >= requests, "the service does not get through"
        )
        time.sleep(0.2)


class RedisListJobs(RedisList):
    """LPUSH of a job; the service's calls belong to the request that pushed it."""

    name = "redis-list-jobs"
    path = "/job/{id}"
