"""nginx in front of uWSGI, over uWSGI's own protocol, and PgBouncer between it and Postgres.

PgBouncer assigns a connection to Postgres for a transaction only, and has fewer than its clients.
"""

import harness
import shared_servers


class Uwsgi(harness.System):
    """Two processes of two threads, each with a persistent connection to PgBouncer."""

    name = "uwsgi"
    packages = (
        "nginx-light", "uwsgi", "uwsgi-plugin-python3", "python3-flask", "python3-psycopg2",
        "pgbouncer", "postgresql",
    )
    # nginx makes a connection for each request.
    per_request = ("application",)
    requests = 300

    def start(self, run):
        shared_servers.postgres(run)
        folder = run.directory("pgbouncer", user="postgres")
        settings = run.write("pgbouncer/pgbouncer.ini", f"""
[databases]
postgres = host=127.0.0.1 port={run.port('database')} user=postgres
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {run.port('pool')}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 3
""")
        run.record("pgbouncer", ["pgbouncer", settings], user="postgres", cwd=folder)
        run.wait_port("pool")
        argv = ["uwsgi", "--plugin", "python3", "--master", "--processes", 2, "--threads", 2]
        argv += ["--socket", f"127.0.0.1:{run.port('application')}", "--module", "app:app"]
        argv += ["--disable-logging", "--die-on-term"]
        env = {"POOL_PORT": run.port("pool")}
        run.record("uwsgi", argv, env=env, cwd=shared_servers.copied(run, "pooled"))
        run.wait_port("application")
        shared_servers.nginx(run, f"""
    server {{
        listen 127.0.0.1:{run.port('entry')};
        location / {{
            include /etc/nginx/uwsgi_params;
            uwsgi_pass 127.0.0.1:{run.port('application')};
        }}
    }}
""")
        run.wait_port("entry")

    def load(self, run, requests, concurrency):
        run.http_load(requests, concurrency, ["/order/{id}"])
