"""A front over HTTP that calls a back over gRPC on one shared connection, both in Rust.

Tokio moves tasks between two threads on each side, so a request's messages are sent and received
by either; hyper sends HTTP/2, and the back's connection to Redis is shared by all requests too.
"""

import shutil
import subprocess

import harness
import server_logs
import shared_servers


class GrpcRust(harness.System):
    """The crates axum, tonic and redis on Tokio."""

    name = "grpc-rust"
    packages = ("redis-server", "protobuf-compiler")
    # Tasks of Tokio are followed, and calls are paired by their heads.
    record_options = ("--resources", "--protocols")
    # On the connection to Redis, too, requests do not wait for earlier responses.
    multiplexed = ("back", "redis")
    requests = 400

    def prepare(self, cache):
        super().prepare(cache)
        build = cache / "build"
        shutil.copytree(shared_servers.APPS / "grpc_rust", build, dirs_exist_ok=True)
        shutil.copy2(shared_servers.APPS / "grpc" / "shop.proto", build)
        if subprocess.run(["cargo", "build", "--release", "--quiet"], cwd=build).returncode != 0:
            raise RuntimeError("the programs of grpc-rust cannot be built by cargo")

    def start(self, run):
        programs = run.cache / "build" / "target" / "release"
        back = f"127.0.0.1:{run.port('back')}"
        shared_servers.redis(run)
        env = {"REDIS_PORT": run.port("redis"), "LISTEN": back}
        run.record("back", [programs / "back"], env=env)
        env = {"BACK": back, "PORT": run.port("entry")}
        run.record("front", [programs / "front"], env=env)
        run.wait_port("back")
        run.wait_port("entry")

    def load(self, run, requests, concurrency):
        arguments = [run.port("entry"), "--requests", requests, "--concurrency", concurrency]
        run.client("thinking_load.py", *arguments, "--think", 10, "/item/{id}")

    def logged_requests(self, log):
        return {
            "entry": server_logs.access(log / "front.log"),
            "back": server_logs.calls(log / "back.log"),
            # Many commands share one packet.
            "redis": server_logs.redis(log / "redis-redis.counts", least=0.9),
        }
