"""A front over HTTP, prices and stock over gRPC, all in Go: HTTP/2 calls at two hops.

Each gRPC connection carries all requests; one goroutine reads from it and another one writes to
it, on both sides. The stock's connections to Redis are taken from a pool.
"""

import os
import subprocess

import harness
import shared_servers

GO = "1.27.3"


class GoGrpc(harness.System):
    """gRPC's own server and client in Go, injected (`record --inject`)."""

    name = "go-grpc"
    packages = ("redis-server", "golang-google-grpc-dev")
    multiplexed = ("prices", "stock")
    # Without operations, HTTP/2's control messages would be treated as calls.
    record_options = ("--inject", "--protocols")
    requests = 400

    def prepare(self, cache):
        super().prepare(cache)
        install = harness.REPOSITORY / "scripts" / "install-go"
        installed = subprocess.run([install, GO], check=True, capture_output=True, text=True)
        go = installed.stdout.strip()
        # Debian's Go packages are a folder of sources, without modules.
        env = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GO111MODULE": "off"}
        env |= {"GOCACHE": str(cache / "go"), "GOPATH": "/usr/share/gocode"}
        source = shared_servers.APPS / "go_grpc" / "main.go"
        command = [go, "build", "-ldflags=-s -w", "-o", cache / "go_grpc", source]
        if subprocess.run(command, cwd=cache, env={**os.environ, **env}).returncode != 0:
            raise RuntimeError("the programs of go-grpc cannot be built")

    def start(self, run):
        shared_servers.redis(run)
        ports = {"REDIS_PORT": "redis", "STOCK_PORT": "stock", "PRICES_PORT": "prices"}
        env = {name: run.port(port) for name, port in ports.items()}
        for name, port in (("stock", "stock"), ("prices", "prices"), ("front", "entry")):
            run.record(name, [run.cache / "go_grpc", name], env={**env, "PORT": run.port(port)})
            run.wait_port(port)

    def load(self, run, requests, concurrency):
        arguments = [run.port("entry"), "--requests", requests, "--concurrency", concurrency]
        run.client("thinking_load.py", *arguments, "--think", 10, "/item/{id}")
