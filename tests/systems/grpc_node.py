"""A front over HTTP that calls a back over gRPC on one shared connection, both in Node.

One thread serves all requests on each side, HTTP/2 is Node's own, and the back's connection to
Redis is shared too: its requests are pipelined, and answered in the same order.
"""

import harness
import server_logs
import shared_servers


class GrpcNode(harness.System):
    """The packages @grpc/grpc-js and redis on Node."""

    name = "grpc-node"
    packages = ("redis-server",)
    npm = ("@grpc/grpc-js", "@grpc/proto-loader", "redis")
    # Heads identify which of many concurrent calls a response belongs to.
    record_options = ("--protocols",)
    # On the connection to Redis, too, requests do not wait for earlier responses.
    multiplexed = ("back", "redis")
    requests = 400

    def start(self, run):
        back = f"127.0.0.1:{run.port('back')}"
        shared_servers.redis(run)
        env = {"REDIS_PORT": run.port("redis"), "LISTEN": back}
        shared_servers.node(run, "back", "grpc/back.js", env)
        env = {"BACK": back, "PORT": run.port("entry")}
        shared_servers.node(run, "front", "grpc/front.js", env)
        run.wait_port("back")
        run.wait_port("entry")

    def load(self, run, requests, concurrency):
        arguments = [run.port("entry"), "--requests", requests, "--concurrency", concurrency]
        run.client("thinking_load.py", *arguments, "--think", 60, "/item/{id}")

    def logged_requests(self, log):
        return {
            "entry": server_logs.access(log / "front.log"),
            "back": server_logs.calls(log / "back.log"),
            # Many commands share one packet.
            "redis": server_logs.redis(log / "redis-redis.counts", least=0.9),
        }
