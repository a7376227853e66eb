"""Event loops of C: haproxy, nginx, a gateway on libevent, and twemproxy in front of Redis.

Each has one or two threads, which serve all requests in turns of a loop, over pools of persistent
connections. twemproxy puts the commands of all clients on one connection, several in one write, so
that only their heads tell where one ends.
"""

import subprocess

import harness
import shared_servers

FILES = harness.HERE / "apps" / "event_loops"


class EventLoops(harness.System):
    """haproxy -> nginx -> gateway -> two services, and twemproxy -> Redis."""

    name = "event-loops"
    packages = ("haproxy", "nginx-light", "nutcracker", "redis-server", "gcc", "libevent-dev")
    multiplexed = ("redis",)
    record_options = ("--protocols",)
    requests = 300

    def start(self, run):
        shared_servers.redis(run)
        for name in ("stock", "price"):
            argv = [run.python(), FILES.parent / "answer.py", run.port(name)]
            run.record(name, argv)
            run.wait_port(name)
        settings = run.write("nutcracker.yml", f"""
redis:
  listen: 127.0.0.1:{run.port('cache')}
  redis: true
  hash: fnv1a_64
  distribution: ketama
  auto_eject_hosts: false
  servers:
   - 127.0.0.1:{run.port('redis')}:1
""")
        statistics = ["-s", run.port("statistics"), "-a", "127.0.0.1"]
        run.record("nutcracker", ["nutcracker", "-c", settings, *statistics])
        run.wait_port("cache")

        program = run.state / "gateway"
        command = ["gcc", "-O2", "-o", program, FILES / "gateway.c", "-levent"]
        subprocess.run(command, check=True)
        run.record("gateway", [program, *(run.port(name) for name in ("middle", "stock", "price", "cache"))])
        run.wait_port("middle")
        shared_servers.nginx(run, f"""
    upstream gateway {{
        server 127.0.0.1:{run.port('middle')};
        keepalive 16;
    }}
    server {{
        listen 127.0.0.1:{run.port('front')};
        location / {{
            proxy_pass http://gateway;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
        }}
    }}
""")
        run.wait_port("front")
        shared_servers.haproxy(run, f"""
frontend entry
    bind 127.0.0.1:{run.port('entry')}
    default_backend front
backend front
    server nginx 127.0.0.1:{run.port('front')}
""")
        run.wait_port("entry")

    def load(self, run, requests, concurrency):
        run.http_load(requests, concurrency, ["/order/{id}"])
