"""A front over HTTP that calls a back over gRPC on one shared connection, both in Python.

The front has eight threads and one channel, so the calls of all requests are mixed on one HTTP/2
connection, whose frames the C core of gRPC sends and receives in its own threads.
"""

import subprocess

import harness
import server_logs
import shared_servers


class GrpcPython(harness.System):
    """gunicorn with threads, grpcio on both sides, and a pool of connections to Redis."""

    name = "grpc-python"
    packages = ("redis-server",)
    pip = ("grpcio", "grpcio-tools", "flask", "gunicorn", "redis")
    multiplexed = ("back",)
    record_options = ("--resources", "--protocols")
    requests = 400

    def start(self, run):
        folder = shared_servers.copied(run, "grpc")
        command = [run.python(), "-m", "grpc_tools.protoc", "-I.", "--python_out=."]
        subprocess.run([*command, "--grpc_python_out=.", "shop.proto"], check=True, cwd=folder)
        back = f"127.0.0.1:{run.port('back')}"
        shared_servers.redis(run)
        env = {"REDIS_PORT": run.port("redis"), "LISTEN": back}
        run.record("back", [run.python(), "back.py"], env=env, cwd=folder)
        shared_servers.gunicorn(
            run, "front", "grpc/front:app", "entry", workers=1, threads=8, env={"BACK": back}
        )
        run.wait_port("back")
        run.wait_port("entry")

    def load(self, run, requests, concurrency):
        run.http_load(requests, concurrency, ["/item/{id}"])

    def logged_requests(self, log):
        return {
            "entry": server_logs.access(log / "front.log"),
            "back": server_logs.calls(log / "back.log"),
            "redis": server_logs.redis(log / "redis-redis.counts"),
        }
