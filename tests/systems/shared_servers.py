"""Servers that several systems use, recorded: Postgres, Redis, RabbitMQ, gunicorn, Node, nginx and
haproxy.

All listen on 127.0.0.1 at a port of the run, and keep their files below the run's own folder.
"""

import shutil
import subprocess
from pathlib import Path

import harness
import server_logs

APPS = harness.HERE / "apps"
# The tables and rows that the applications here expect.
TABLES = """
CREATE TABLE orders (number int PRIMARY KEY, price int);
INSERT INTO orders VALUES (7, 70);
CREATE TABLE payments (name text, price int);
"""


def copied(run, folder):
    """The application of that folder, copied below the run: nothing is written to the original."""
    target = run.state / "apps" / folder
    if not target.exists():
        shutil.copytree(APPS / folder, target)
    return target


def postgres(run, port="database", host="host", statements=TABLES, more=()):
    """A new database cluster in which the user `postgres` needs no password. It has the tables
    above.

    `more` are pairs of settings, which override the ones here.
    """
    versions = Path("/usr/lib/postgresql").glob("*/bin")
    programs = max(versions, key=lambda path: int(path.parent.name))
    folder = run.directory("postgres", user="postgres")
    as_postgres = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", "--"]
    command = [programs / "initdb", "--auth=trust", "--no-sync", "-U", "postgres", "-D", folder]
    subprocess.run([*as_postgres, *command], check=True, stdout=subprocess.DEVNULL, cwd=folder)
    settings = {
        "listen_addresses": "127.0.0.1",
        "port": run.port(port),
        "unix_socket_directories": "",
        "fsync": "off",
        "max_connections": 100,
        **(server_logs.POSTGRES if run.names else {}),
        **dict(more),
    }
    words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    argv = [programs / "postgres", "-D", folder, *words]
    run.record("postgres", argv, user="postgres", host=host, cwd=folder)
    client = ["psql", "-h", "127.0.0.1", "-p", str(run.port(port)), "-U", "postgres", "-qtc"]

    def answers():
        query = subprocess.run([*client, "SELECT 1"], capture_output=True, check=False)
        return query.returncode == 0

    run.wait_until(answers, "postgres takes no queries")
    if statements:
        subprocess.run([*client, statements], check=True)


def redis(run, port="redis", host="host"):
    """A Redis that keeps nothing on disk."""
    argv = ["redis-server", "--port", run.port(port), "--bind", "127.0.0.1", "--save", ""]
    run.record(f"redis-{port}", argv, host=host)
    run.wait_port(port)
    run.count(f"redis-{port}.counts", lambda: server_logs.redis_counts(run.port(port)))


def rabbitmq(run, port="broker", host="host"):
    """A RabbitMQ node of its own, with the user `guest`."""
    folder = run.directory("rabbitmq")
    env = {
        "HOME": folder,
        "RABBITMQ_NODENAME": "shop@localhost",
        "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
        "RABBITMQ_NODE_PORT": run.port(port),
        "RABBITMQ_DIST_PORT": run.port("erlang"),
        "ERL_EPMD_PORT": run.port("epmd"),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
        "RABBITMQ_MNESIA_BASE": folder,
        "RABBITMQ_LOG_BASE": folder,
        "RABBITMQ_PID_FILE": folder / "pid",
        "RABBITMQ_ENABLED_PLUGINS_FILE": folder / "plugins",
        "RABBITMQ_CONFIG_FILE": folder / "none",
    }
    # The command of that name changes the user first, and needs the system's own folders.
    run.record("rabbitmq", ["/usr/lib/rabbitmq/bin/rabbitmq-server"], env=env, host=host)
    run.wait_port(port, 60)


def gunicorn(run, name, app, port, workers, threads=1, env=None, host="host", kind=None):
    """A Python web application of `apps/`: `app` is `folder/module:name`, and `kind` the class of
    workers. Returns before it accepts connections.
    """
    folder, _, target = app.rpartition("/")
    argv = [run.python(), "-m", "gunicorn", "--no-control-socket", "--log-level", "warning"]
    argv += ["--workers", workers, "--bind", f"127.0.0.1:{run.port(port)}", "--keep-alive", 30]
    if threads > 1:
        argv += ["--worker-class", "gthread", "--threads", threads]
    if kind:
        argv += ["--worker-class", kind]
    if run.names:
        argv += ["--access-logfile", "-", "--access-logformat", "access %(m)s %(U)s %(s)s"]
    run.record(name, [*argv, target], env=env, cwd=copied(run, folder), host=host)


def node(run, name, script, env, host="host"):
    """A Node program of `apps/`, with the npm packages of its system. Returns before it accepts
    connections.
    """
    folder, _, file = script.rpartition("/")
    env = {**env, "NODE_PATH": run.cache / "node_modules"}
    run.record(name, ["node", file], env=env, cwd=copied(run, folder), host=host)


def nginx(run, servers, name="nginx", host="host", workers=1):
    """An nginx with these `server` blocks, in the foreground, as the user that starts it."""
    folder = run.directory(name)
    paths = "\n".join(
        f"    {kind}_temp_path {folder}/{kind};"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    run.write(f"{name}/nginx.conf", f"""
daemon off;
user root;
worker_processes {workers};
pid {folder}/pid;
error_log stderr warn;
events {{ worker_connections 512; }}
http {{
    access_log off;
    client_max_body_size 64m;
{paths}
{servers}
}}
""")
    argv = ["nginx", "-p", folder, "-c", folder / "nginx.conf", "-e", "stderr"]
    run.record(name, argv, host=host)


def haproxy(run, sections, name="haproxy", host="host"):
    """A haproxy with these sections, after the usual defaults."""
    log = ""
    if run.names:
        log = 'log stdout format raw local0 info\n    log-format "access %HM %HU %ST"'
    path = run.write(f"{name}/haproxy.cfg", f"""
global
    maxconn 400
    nbthread 2
defaults
    mode http
    timeout connect 10s
    timeout client 60s
    timeout server 60s
    option http-keep-alive
    {log}
{sections}
""")
    run.record(name, ["haproxy", "-db", "-f", path], host=host)
