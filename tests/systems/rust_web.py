"""Web frameworks of Rust: axum on Tokio's threads, which steal tasks from each other, and actix,
whose threads do not. Each runs as a gateway and a service.
"""

import shutil
import subprocess

import harness
import shared_servers


class Axum(harness.System):
    """axum, reqwest, sqlx with a pool, and one connection to Redis for all requests."""

    name = "axum"
    packages = ("postgresql", "redis-server")
    # Requests do not wait for earlier responses.
    multiplexed = ("redis",)
    requests = 300
    folder = "axum"

    def build(self):
        """The folder in which the program is built."""
        return harness.CACHE / self.folder / "build"

    def prepare(self, cache):
        super().prepare(cache)
        shutil.copytree(shared_servers.APPS / self.folder, self.build(), dirs_exist_ok=True)
        command = ["cargo", "build", "--release", "--quiet", "--jobs", "2"]
        if subprocess.run(command, cwd=self.build()).returncode != 0:
            raise RuntimeError(f"the program of {self.name} cannot be built by cargo")

    def start(self, run):
        shared_servers.postgres(run)
        if "redis-server" in self.packages:
            shared_servers.redis(run)
        env = {name.upper(): run.port(name) for name in ("database", "redis", "stock")}
        program = self.build() / "target" / "release" / f"{self.folder}-shop"
        for name in ("stock", "entry"):
            run.record(name, [program, run.port(name)], env=env)
            run.wait_port(name)

    def load(self, run, requests, concurrency):
        run.http_load(requests, concurrency, ["/order/{id}"])


class AxumProtocols(Axum):
    """With heads of messages, by which commands to Redis in one write are separate calls."""

    name = "axum-protocols"
    record_options = ("--protocols",)


class Actix(Axum):
    """actix-web and its client awc; each thread has one connection to Postgres."""

    name = "actix"
    folder = "actix"
    packages = ("postgresql",)
    multiplexed = ("database",)
