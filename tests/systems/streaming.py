"""Large bodies both ways through nginx and haproxy, among small requests.

nginx hands on to haproxy, haproxy to a service in Python or in Node, which asks Redis before and after a
body. Bodies have 1 to 8 MB: some are sent, some are fetched, and some come back while they are still sent.
"""

import harness
import shared_servers


class Buffered(harness.System):
    """nginx takes a whole request before it hands it on, and answers as fast as the service makes them."""

    name = "streaming-buffered"
    packages = ("nginx-light", "haproxy", "redis-server")
    pip = ("flask", "gunicorn", "redis")
    npm = ("redis",)
    requests = 200
    # Of nginx, for requests and for answers.
    buffering = "on"

    def start(self, run):
        shared_servers.redis(run)
        env = {"REDIS_PORT": run.port("redis")}
        shared_servers.gunicorn(
            run, "python", "stream/service:app", "python", workers=2, threads=4, env=env
        )
        env = {"REDIS_PORT": run.port("redis"), "PORT": run.port("node")}
        shared_servers.node(run, "node", "stream/service.js", env)
        shared_servers.haproxy(run, f"""
frontend balancer
    bind 127.0.0.1:{run.port('balancer')}
    http-request set-var(txn.node) path,field(2,/)
    http-request replace-path /[a-z]+(/.*) \\1
    use_backend node if {{ var(txn.node) -m str node }}
    default_backend python
backend python
    server python 127.0.0.1:{run.port('python')}
backend node
    server node 127.0.0.1:{run.port('node')}
""")
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
        for port in ("python", "node", "balancer", "entry"):
            run.wait_port(port)

    def load(self, run, requests, concurrency):
        arguments = [run.port("entry"), "--requests", requests, "--concurrency", concurrency]
        run.client("stream_load.py", *arguments, "--prefix", "/python", "--prefix", "/node")


class Unbuffered(Buffered):
    """nginx hands on every part of a body as it comes."""

    name = "streaming-unbuffered"
    buffering = "off"
