"""A front and a stock in Go, which do not load libraries: each request belongs to a goroutine.

The front calls the stock over HTTP on connections that other goroutines serve, and gives jobs for
Redis to workers through a channel. Threads carry no information, as each runs any goroutine.
"""

import os
import shutil
import subprocess

import harness
import shared_servers

GO = "1.27.3"


class GoShop(harness.System):
    """net/http and channels, injected (`record --inject`)."""

    name = "go-shop"
    packages = ("redis-server",)
    record_options = ("--inject",)
    requests = 1000

    def prepare(self, cache):
        super().prepare(cache)
        install = harness.REPOSITORY / "scripts" / "install-go"
        installed = subprocess.run([install, GO], check=True, capture_output=True, text=True)
        go = installed.stdout.strip()
        build = cache / "build"
        shutil.copytree(shared_servers.APPS / "go_shop", build, dirs_exist_ok=True)
        env = {"CGO_ENABLED": "0", "GOTOOLCHAIN": "local"}
        env |= {"GOCACHE": str(cache / "go"), "GOPATH": str(cache / "path")}
        command = [go, "build", "-ldflags=-s -w", "-o", cache / "go_shop", "main.go"]
        if subprocess.run(command, cwd=build, env={**os.environ, **env}).returncode != 0:
            raise RuntimeError("the program of go-shop cannot be built")

    def start(self, run):
        shared_servers.redis(run)
        env = {"REDIS_PORT": run.port("redis"), "STOCK_PORT": run.port("stock")}
        for name, port in (("stock", "stock"), ("front", "entry")):
            run.record(name, [run.cache / "go_shop", name], env={**env, "PORT": run.port(port)})
            run.wait_port(port)

    def load(self, run, requests, concurrency):
        arguments = [run.port("entry"), "--requests", requests, "--concurrency", concurrency]
        run.client("thinking_load.py", *arguments, "--think", 10, "/item/{id}")
