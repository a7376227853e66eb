"""Varnish in front of an asyncio application: FastAPI in uvicorn, with Postgres, Redis and a
service.

Everything waits in one thread, and a request makes two concurrent calls.
"""

import harness
import shared_servers


class AsyncioShop(harness.System):
    """uvicorn with one process; the pools of asyncpg, Redis and httpx; the service uses aiohttp."""

    name = "asyncio"
    packages = ("varnish", "postgresql", "redis-server")
    pip = ("fastapi", "uvicorn", "asyncpg", "redis", "httpx", "aiohttp")
    requests = 300

    def start(self, run):
        shared_servers.postgres(run)
        shared_servers.redis(run)
        env = {name.upper(): run.port(name) for name in ("database", "redis", "stock", "shop")}
        folder = shared_servers.copied(run, "async_shop")
        run.record("stock", [run.python(), "stock.py"], env=env, cwd=folder)
        run.wait_port("stock")
        argv = [run.python(), "-m", "uvicorn", "shop:app", "--host", "127.0.0.1"]
        argv += ["--port", run.port("shop"), "--log-level", "warning"]
        run.record("shop", argv, env=env, cwd=folder)
        run.wait_port("shop")
        rules = run.write("varnish.vcl", f"""
vcl 4.1;
backend shop {{ .host = "127.0.0.1"; .port = "{run.port('shop')}"; }}
sub vcl_recv {{ return (pass); }}
""")
        argv = ["varnishd", "-F", "-j", "none", "-n", run.directory("varnish"), "-f", rules]
        argv += ["-a", f"127.0.0.1:{run.port('entry')}", "-s", "malloc,16m"]
        run.record("varnish", argv)
        run.wait_port("entry")

    def load(self, run, requests, concurrency):
        run.http_load(requests, concurrency, ["/order/{id}"])
