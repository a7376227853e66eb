"""A web application that publishes events to Mosquitto, and a subscriber that stores them.

The web application responds when the broker has accepted the event. The subscriber's calls to
Postgres and Redis then belong to the request that published it.
"""

import time

import harness
import shared_servers


class Mosquitto(harness.System):
    """MQTT events that the broker acknowledges; one subscriber, which takes one at a time."""

    name = "mosquitto"
    packages = ("mosquitto", "postgresql", "redis-server")
    pip = ("flask", "gunicorn", "paho-mqtt", "psycopg2-binary", "redis")
    # Events are published without waiting for others, so each is a separate exchange.
    multiplexed = ("broker",)
    requests = 300

    def start(self, run):
        shared_servers.postgres(run)
        shared_servers.redis(run)
        settings = run.write("mosquitto.conf", f"""
listener {run.port('broker')} 127.0.0.1
allow_anonymous true
user root
""")
        run.record("mosquitto", ["mosquitto", "-c", settings])
        run.wait_port("broker")
        env = {name.upper(): run.port(name) for name in ("database", "redis", "broker")}
        folder = shared_servers.copied(run, "events")
        run.record("writer", [run.python(), "-u", "writer.py"], env=env, cwd=folder)
        log = run.log / "writer.log"
        run.wait_until(lambda: "ready" in log.read_text(), "the writer is not ready")
        shared_servers.gunicorn(run, "web", "events/web:app", "entry", workers=2, threads=4, env=env)
        run.wait_port("entry")

    def load(self, run, requests, concurrency):
        run.http_load(requests, concurrency, ["/order/{id}"])
        # Events are stored after the responses.
        log = run.log / "writer.log"
        run.wait_until(
            lambda: log.read_text().count("wrote") >= requests, "the writer does not get through"
        )
        time.sleep(0.2)
