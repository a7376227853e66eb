"""BullMQ: fastify leaves jobs in Redis for a worker process, and waits for their ends.

BullMQ takes and ends jobs by scripts that Redis runs. A worker that ends a job gets the next one in
the response. The web application learns of ends from a stream of events.
"""

import harness
import shared_servers


class Bullmq(harness.System):
    """Each process has one thread; the worker does four jobs at once, with PostgreSQL."""

    name = "bullmq"
    packages = ("postgresql", "redis-server")
    npm = ("fastify", "bullmq", "ioredis", "pg")
    # Commands are sent without waiting for others, so each is a separate exchange. An id that only a
    # response has is of delivered work.
    multiplexed = ("redis",)
    requests = 300

    def start(self, run):
        shared_servers.postgres(run)
        shared_servers.redis(run)
        env = {name.upper(): run.port(name) for name in ("database", "redis", "entry")}
        shared_servers.node(run, "worker", "bullmq/worker.js", env)
        log = run.log / "worker.log"
        run.wait_until(lambda: "ready" in log.read_text(), "the worker is not ready")
        shared_servers.node(run, "web", "bullmq/web.js", env)
        run.wait_port("entry")

    def load(self, run, requests, concurrency):
        run.http_load(requests, concurrency, ["/order/{id}"])
