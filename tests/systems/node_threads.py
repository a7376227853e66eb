"""Express that gives each request to a pool of Node's threads (piscina), which call PostgreSQL.

One thread receives and responds to all requests; four others have an event loop each, and take one
request at a time by messages between threads.
"""

import harness
import shared_servers


class NodeThreads(harness.System):
    """Express -> threads -> PostgreSQL, then Express -> Redis."""

    name = "node-threads"
    packages = ("postgresql", "redis-server")
    npm = ("express", "piscina", "ioredis", "pg")
    # Commands are sent without waiting for others, so each is a separate exchange.
    multiplexed = ("redis",)
    requests = 300

    def start(self, run):
        shared_servers.postgres(run)
        shared_servers.redis(run)
        env = {name.upper(): run.port(name) for name in ("database", "redis", "entry")}
        shared_servers.node(run, "entry", "node_threads/shop.js", env)
        run.wait_port("entry")

    def load(self, run, requests, concurrency):
        run.http_load(requests, concurrency, ["/order/{id}"])
