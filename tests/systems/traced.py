"""Four Flask services that OpenTelemetry's own instrumentation traces, as in usual deployments.

`opentelemetry-instrument` sends `traceparent` with each call, and writes its spans to the log of
the service. With `--names` these ids are recorded: `sockcap score --traces` uses them as the
truth, and `traced_spans.py` compares the spans of `sockcap export otlp` with the ones in the logs.
"""

import harness
import shared_servers

# Threads of each server.
THREADS = 40


class Traced(harness.System):
    """A front end in front of a shop, which calls prices and stocks; these call Postgres."""

    name = "traced"
    packages = ("postgresql",)
    pip = (
        "flask", "waitress", "requests", "psycopg2-binary", "opentelemetry-distro",
        "opentelemetry-instrumentation-flask", "opentelemetry-instrumentation-requests",
    )
    requests = 300

    def start(self, run):
        shared_servers.postgres(run)
        for name in ("prices", "stock", "shop"):
            self.serve(run, name, name)
        self.serve(run, "front", "entry")

    def serve(self, run, name, port):
        """Starts a service, and waits for it."""
        env = {
            **{one.upper(): run.port(one) for one in ("database", "prices", "stock", "shop")},
            "OTEL_SERVICE_NAME": name,
            "OTEL_TRACES_EXPORTER": "console",
            "OTEL_METRICS_EXPORTER": "none",
            "OTEL_LOGS_EXPORTER": "none",
            # Exported before the servers are ended.
            "OTEL_BSP_SCHEDULE_DELAY": 200,
        }
        programs = run.cache / "venv" / "bin"
        argv = [programs / "opentelemetry-instrument", programs / "waitress-serve"]
        argv += ["--threads", THREADS, "--listen", f"127.0.0.1:{run.port(port)}", f"{name}:app"]
        run.record(name, argv, env=env, cwd=shared_servers.copied(run, "traced"))
        run.wait_port(port)

    def load(self, run, requests, concurrency):
        run.http_load(requests, concurrency, ["/order/{id}", "/cart/{id}"])
