"""A shop of ten hosts: nginx, haproxy, two application servers, two services, and their backends.

client -> nginx -> haproxy -> Python (two) -> Node (two) -> Postgres; both also call Redis, and
look names up at dnsmasq by datagrams. Each service has one thread and a pool of four connections
to Postgres, each application server four threads, so 32 concurrent requests wait at haproxy and
for connections. All run on one machine, each with a separate host name.
"""

import harness
import shared_servers


class TenHosts(harness.System):
    """For three loads: 1 (light), 8 (busy) and 32 concurrent requests (queues)."""

    name = "ten-hosts"
    packages = ("nginx-light", "haproxy", "redis-server", "postgresql", "dnsmasq-base")
    pip = ("flask", "gunicorn", "redis", "dnspython", "urllib3")
    npm = ("pg", "redis")
    # Node pipelines its requests to Redis.
    multiplexed = ("redis",)
    requests = 300

    def start(self, run):
        shared_servers.postgres(run, host="database")
        shared_servers.redis(run, host="cache")
        self.start_names(run)
        env = {
            "REDIS_PORT": run.port("redis"),
            "DATABASE_PORT": run.port("database"),
            "DNS_PORT": run.port("names"),
            "POOL": 4,
        }
        services = ("service1", "service2")
        for name in services:
            shared_servers.node(
                run, name, "hosts/service.js", {**env, "PORT": run.port(name)}, host=name
            )
        env["SERVICE_PORTS"] = ",".join(str(run.port(name)) for name in services)
        applications = ("app1", "app2")
        for name in applications:
            shared_servers.gunicorn(
                run, name, "hosts/app:app", name, workers=1, threads=4, env=env, host=name
            )
        for name in (*services, *applications):
            run.wait_port(name)
        self.start_front(run, applications)

    def start_names(self, run):
        """dnsmasq, in which all names of the shop are on this machine."""
        argv = ["dnsmasq", "--keep-in-foreground", "--conf-file=/dev/null", "--user=root"]
        argv += ["--port", run.port("names"), "--listen-address=127.0.0.1", "--bind-interfaces"]
        argv += ["--no-resolv", "--no-hosts", "--cache-size=0", "--pid-file="]
        run.record("dnsmasq", [*argv, "--address=/shop.test/127.0.0.1"], host="names")
        run.wait_port("names")

    def start_front(self, run, applications):
        """haproxy with a queue in front of the application servers, and nginx in front of it."""
        servers = "\n".join(
            f"    server {name} 127.0.0.1:{run.port(name)} maxconn 4" for name in applications
        )
        shared_servers.haproxy(run, f"""
frontend balancer
    bind 127.0.0.1:{run.port('balancer')}
    default_backend applications
backend applications
    balance leastconn
{servers}
""", host="balancer")
        shared_servers.nginx(run, f"""
    upstream balancer {{ server 127.0.0.1:{run.port('balancer')}; keepalive 32; }}
    server {{
        listen 127.0.0.1:{run.port('entry')};
        location / {{
            proxy_pass http://balancer;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
        }}
    }}
""", host="edge")
        run.wait_port("balancer")
        run.wait_port("entry")

    def load(self, run, requests, concurrency):
        run.http_load(requests, concurrency, ["/cart/{id}"])
