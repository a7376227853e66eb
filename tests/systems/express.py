"""Node's Express behind haproxy and Caddy, which is written in Go and cannot be recorded.

Express calls MariaDB through a pool, and a service, also in Node, over persistent connections of
undici.
"""

import harness
import mariadb
import server_logs
import shared_servers


class Express(harness.System):
    """haproxy -> Caddy -> Express -> MariaDB and a service, which calls MariaDB too."""

    name = "express"
    packages = (*mariadb.PACKAGES, "haproxy", "caddy")
    npm = ("express", "mysql2", "undici@6")
    requests = 300

    def start(self, run):
        mariadb.start(run, "shop", "secret")
        env = {"DATABASE": run.port("mariadb"), "STOCK": run.port("stock"), "SHOP": run.port("shop")}
        shared_servers.node(run, "stock", "express/stock.js", env)
        run.wait_port("stock")
        shared_servers.node(run, "shop", "express/shop.js", env)
        run.wait_port("shop")
        settings = run.write("Caddyfile", f"""
{{
    admin off
    auto_https off
}}
http://127.0.0.1:{run.port('middle')} {{
    reverse_proxy 127.0.0.1:{run.port('shop')}
}}
""")
        home = run.directory("caddy")
        argv = ["caddy", "run", "--adapter", "caddyfile", "--config", settings]
        run.run_unrecorded("caddy", argv, env={"HOME": home})
        run.wait_port("middle")
        shared_servers.haproxy(run, f"""
frontend entry
    bind 127.0.0.1:{run.port('entry')}
    default_backend middle
backend middle
    server caddy 127.0.0.1:{run.port('middle')}
""")
        run.wait_port("entry")

    def load(self, run, requests, concurrency):
        run.http_load(requests, concurrency, ["/order/{id}"])

    def logged_requests(self, log):
        return {
            "entry": server_logs.access(log / "haproxy.log"),
            "shop": server_logs.access(log / "shop.log"),
            "stock": server_logs.access(log / "stock.log"),
            "mariadb": server_logs.mariadb(log / "mariadb.general"),
        }
