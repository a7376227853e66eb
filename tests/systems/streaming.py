"""Large bodies in both directions through nginx and haproxy, among small requests.

nginx forwards to haproxy, haproxy to a service in Python or in Node, which calls Redis before and
after a body. Bodies have 1 to 8 MB: some are sent, some are fetched, some come back.
"""

import harness
import shared_servers


class Buffered(harness.System):
    """nginx reads a whole request before it forwards it, and a response as fast as it is produced.
    """

    name = "streaming-buffered"
    packages = ("nginx-light", "haproxy", "redis-server")
    pip = ("flask", "gunicorn", "redis")
    npm = ("redis",)
    # Node pipelines its requests to Redis.
    multiplexed = ("redis",)
    requests = 150
    # nginx's buffering of requests and of responses.
    buffering = "on"

    def start(self, run):
        self.start_backends(run)
        shared_servers.nginx(run, f"""
    upstream balancer {{ server 127.0.0.1:{run.port('balancer')}; keepalive 8; }}
    server {{
        listen 127.0.0.1:{run.port('entry')};
        location / {{
            proxy_pass http://balancer;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_request_buffering {self.buffering};
            proxy_buffering {self.buffering};
        }}
    }}
""")
        run.wait_port("entry")

    def start_backends(self, run, balancer="balancer"):
        """haproxy, the services and Redis."""
        shared_servers.redis(run)
        env = {"REDIS_PORT": run.port("redis")}
        shared_servers.gunicorn(
            run, "python", "stream/service:app", "python", workers=2, threads=4, env=env
        )
        env = {"REDIS_PORT": run.port("redis"), "PORT": run.port("node")}
        shared_servers.node(run, "node", "stream/service.js", env)
        shared_servers.haproxy(run, f"""
frontend balancer
    bind 127.0.0.1:{run.port(balancer)}
    http-request set-var(txn.node) path,field(2,/)
    http-request replace-path /[a-z]+(/.*) \\1
    use_backend node if {{ var(txn.node) -m str node }}
    default_backend python
backend python
    server python 127.0.0.1:{run.port('python')}
backend node
    server node 127.0.0.1:{run.port('node')}
""")
        for port in ("python", "node", balancer):
            run.wait_port(port)

    def load(self, run, requests, concurrency, both="turn"):
        arguments = [run.port("entry"), "--requests", requests, "--concurrency", concurrency]
        arguments += ["--prefix", "/python", "--prefix", "/node", "--both", both]
        run.client("stream_load.py", *arguments)


class Unbuffered(Buffered):
    """nginx forwards every part of a body as it arrives."""

    name = "streaming-unbuffered"
    buffering = "off"


class Duplex(Buffered):
    """haproxy alone in front: responses begin before their requests end, which nginx cuts short."""

    name = "streaming-duplex"
    packages = ("haproxy", "redis-server")
    marked = ("entry", "python", "node")

    def start(self, run):
        self.start_backends(run, balancer="entry")

    def load(self, run, requests, concurrency):
        super().load(run, requests, concurrency, both="echo")
