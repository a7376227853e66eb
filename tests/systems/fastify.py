"""Node's fastify: a gateway that fans out to two services, with fetch, pg and ioredis.

Each process has one thread, which serves all requests in turn. The pools of connections are as
large as their libraries make them.
"""

import harness
import shared_servers


class Fastify(harness.System):
    """Gateway -> PostgreSQL, Redis and two services, of which one calls PostgreSQL, too."""

    name = "fastify"
    packages = ("postgresql", "redis-server")
    npm = ("fastify", "pg", "ioredis")
    requests = 300

    def start(self, run):
        shared_servers.postgres(run)
        shared_servers.redis(run)
        ports = ("database", "redis", "price", "stock", "entry")
        env = {name.upper(): run.port(name) for name in ports}
        for name in ("price", "stock", "entry"):
            shared_servers.node(run, name, f"fastify/{name}.js", env)
            run.wait_port(name)

    def load(self, run, requests, concurrency):
        run.http_load(requests, concurrency, ["/order/{id}"])
