"""Node's cluster: two processes of Hono, to which a third one passes the connections it accepts.

Both call MariaDB through a pool, and a service over persistent connections of undici.
"""

import harness
import mariadb
import shared_servers


class NodeCluster(harness.System):
    """Hono in two processes -> MariaDB and a service, which calls MariaDB too."""

    name = "node-cluster"
    packages = mariadb.PACKAGES
    npm = ("hono", "@hono/node-server", "mysql2", "undici@6")
    requests = 300

    def start(self, run):
        mariadb.start(run, "shop", "secret")
        ports = {"DATABASE": "mariadb", "STOCK": "stock", "ENTRY": "entry"}
        env = {name: run.port(port) for name, port in ports.items()}
        shared_servers.node(run, "stock", "express/stock.js", env)
        run.wait_port("stock")
        shared_servers.node(run, "shop", "node_cluster/shop.js", env)
        log = run.log / "shop.log"
        run.wait_until(lambda: log.read_text().count("ready") == 2, "the workers are not ready")

    def load(self, run, requests, concurrency):
        run.http_load(requests, concurrency, ["/order/{id}"])
