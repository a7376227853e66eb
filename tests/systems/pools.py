"""Web services with a reader thread and a pool of workers, fed by a queue, in four languages.

A worker calls the stock service, and for two requests in three also the price service, on its own
connections. Then it responds, or leaves the response to a writer thread. The backends respond
after a random time. 16 workers serve 50 users, so that at a concurrency of 50 a worker usually
finds the next request waiting; with fewer it waits itself. Hand-offs between threads are recorded,
too; `--options '--without hand-offs'` ignores them.
"""

import subprocess

import harness
import shared_servers

APPS = shared_servers.APPS
WORKERS = 16


class Pool(harness.System):
    """The common part of all pools: the backends, and the load."""

    requests = 1000
    record_options = ("--resources",)
    # The thread that responds: `worker` or `writer`.
    answers = "worker"

    def start(self, run):
        for name, most in (("stock", 16), ("price", 8)):
            run.record(name, [run.python(), APPS / "pools" / "slow.py", run.port(name), 2, most])
            run.wait_port(name)
        ports = [run.port(name) for name in ("entry", "stock", "price")]
        run.record("pool", [*self.program(run), *ports, WORKERS, self.answers, *self.more])
        run.wait_port("entry", 60)

    # Further arguments of the program.
    more = ()

    def program(self, run):
        """The command of the service, without its arguments."""
        raise NotImplementedError

    def load(self, run, requests, concurrency):
        if concurrency == 1:
            requests = min(requests, 200)
            run.requests = requests
        run.http_load(requests, concurrency, ["/order/{id}"])


class Cpp(Pool):
    """C++: a deque, a mutex and condition variables; optimized, as such programs are."""

    name = "pool-cpp"
    packages = ("g++",)

    def prepare(self, cache):
        super().prepare(cache)
        argv = ["g++", "-O2", "-pthread", "-o", cache / "pool", APPS / "pools" / "pool.cpp"]
        if subprocess.run(argv).returncode != 0:
            raise RuntimeError("the program of pool-cpp cannot be built by g++")

    def program(self, run):
        return [run.cache / "pool"]


class CppWriter(Cpp):
    """The same with a writer thread, which sends the responses."""

    name = "pool-cpp-writer"
    answers = "writer"


class Java(Pool):
    """Java: ThreadPoolExecutor over a LinkedBlockingQueue, and a Selector."""

    name = "pool-java"
    packages = ("default-jdk-headless",)

    def program(self, run):
        return ["java", "-Xmx256m", APPS / "pools" / "Pool.java"]


class JavaWriter(Java):
    """The same with a writer thread, which sends the responses."""

    name = "pool-java-writer"
    answers = "writer"


class Python(Pool):
    """Python: threads and queue.Queue."""

    name = "pool-python"
    more = ("queue",)

    def program(self, run):
        return [run.python(), APPS / "pools" / "pool.py"]


class PythonWriter(Python):
    """The same with a writer thread, which sends the responses."""

    name = "pool-python-writer"
    answers = "writer"


class Rust(Pool):
    """Rust: threads and std's channels; a reader for each connection."""

    name = "pool-rust"

    def prepare(self, cache):
        super().prepare(cache)
        source = APPS / "pools" / "pool.rs"
        argv = ["rustc", "--edition", "2024", "-O", "-o", cache / "pool", source]
        if subprocess.run(argv).returncode != 0:
            raise RuntimeError("the program of pool-rust cannot be built by rustc")

    def program(self, run):
        return [run.cache / "pool"]


class RustWriter(Rust):
    """The same with a writer thread, which sends the responses."""

    name = "pool-rust-writer"
    answers = "writer"
