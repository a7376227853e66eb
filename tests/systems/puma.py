"""Ruby: Sinatra in puma's threads, with MariaDB through a pool of connections, and memcached."""

import harness
import mariadb
import server_logs
import shared_servers


class Puma(harness.System):
    """One process of eight threads, which share three connections to MariaDB."""

    name = "puma"
    packages = (*mariadb.PACKAGES, "memcached", "puma", "ruby-sinatra", "ruby-mysql2", "ruby-dalli")
    requests = 300

    def start(self, run):
        mariadb.start(run, "shop", "secret")
        run.record("memcached", ["memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", run.port("cache")])
        run.wait_port("cache")
        run.count("memcached.counts", lambda: server_logs.memcached_counts(run.port("cache")))
        env = {"DATABASE": run.port("mariadb"), "CACHE": run.port("cache"), "RACK_ENV": "production"}
        argv = ["puma", "--quiet", "--threads", "8:8", "--bind", f"tcp://127.0.0.1:{run.port('entry')}"]
        run.record("puma", argv, env=env, cwd=shared_servers.copied(run, "puma_shop"))
        run.wait_port("entry")

    def load(self, run, requests, concurrency):
        run.http_load(requests, concurrency, ["/order/{id}"])

    def logged_requests(self, log):
        return {
            "entry": server_logs.access(log / "puma.log"),
            "mariadb": server_logs.mariadb(log / "mariadb.general"),
            "cache": server_logs.memcached(log / "memcached.counts"),
        }
