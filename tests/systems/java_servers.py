"""Servers in Java that no thread waits in: the JDK's own with a pool of workers, Netty and Jetty.

Each calls the service `answer.py`, over connections that other threads of it serve.
"""

import subprocess
import urllib.request

import harness
import shared_servers

JARS = "/usr/share/java"


class JavaExecutor(harness.System):
    """The JDK's server and client, a fixed pool of threads, CompletableFuture and JDBC."""

    name = "java-executor"
    packages = ("default-jdk-headless", "postgresql", "libpostgresql-jdbc-java")
    requests = 300
    folder = "java_executor"
    program = "Shop"
    jars = ("postgresql.jar",)
    # The ports that the program is given after its own.
    called = ("database", "stock")

    def start(self, run):
        if "database" in self.called:
            shared_servers.postgres(run)
        run.record("stock", [run.python(), shared_servers.APPS / "answer.py", run.port("stock")])
        run.wait_port("stock")
        path = ":".join([str(run.directory("classes")), *(f"{JARS}/{jar}" for jar in self.jars)])
        source = shared_servers.APPS / self.folder / f"{self.program}.java"
        command = ["javac", "-nowarn", "-cp", path, "-d", run.directory("classes"), source]
        subprocess.run(command, check=True)
        ports = [run.port(port) for port in ("entry", *self.called)]
        # Head and body of the JDK's responses are two packets, and the second one must not wait.
        options = ["-Xmx256m", "-Dsun.net.httpserver.nodelay=true"]
        run.record("entry", ["java", *options, "-cp", path, self.program, *ports])
        run.wait_port("entry", 60)
        # The first requests load classes.
        for _ in range(20):
            address = f"http://127.0.0.1:{run.port('entry')}/order/first"
            urllib.request.urlopen(address, timeout=60).close()

    def load(self, run, requests, concurrency):
        run.http_load(requests, concurrency, ["/order/{id}"])


class Netty(JavaExecutor):
    """Netty's server and client on the same two event loops."""

    name = "netty"
    packages = ("default-jdk-headless", "libnetty-java")
    folder = "netty"
    program = "Gateway"
    jars = tuple(
        f"netty-{part}.jar"
        for part in ("buffer", "codec", "codec-http", "common", "handler", "resolver", "transport")
    )
    called = ("stock",)


class Jetty(JavaExecutor):
    """Jetty's handlers, which suspend requests, and its client, on one pool of threads."""

    name = "jetty"
    packages = ("default-jdk-headless", "libjetty9-java", "libjetty9-extra-java", "libservlet-api-java")
    folder = "jetty"
    program = "Gateway"
    jars = (
        *(f"jetty9-{part}.jar" for part in ("client", "http", "io", "server", "util")),
        "servlet-api.jar",
    )
    called = ("stock",)
