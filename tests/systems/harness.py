"""A test system, and one run of it, with all its files in one folder.

A system is a class derived from `System`, in a module of its own in this folder. A run records its
servers and its client with sockcap, has tcpdump write the packets of the load, and leaves:

    data/      sockcap's recording
    lo.pcap    the packets
    run.json   facts of the system for the truth: its ports, and how they are used
    log/       the programs' output
    state/     the servers' own files
"""

import json
import os
import pwd
import random
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import processes

HERE = Path(__file__).resolve().parent
REPOSITORY = HERE.parents[1]
CACHE = REPOSITORY / "target" / "systems-cache"


def program(name):
    """The path of one of sockcap's files: `sockcap` or `libsockcap.so`."""
    profile = os.environ.get("SOCKCAP_PROFILE", "release")
    folder = Path(os.environ.get("SOCKCAP_BIN", REPOSITORY / "target" / profile))
    path = folder / name
    if not path.exists():
        raise FileNotFoundError(f"{name} is missing: run scripts/build, or set SOCKCAP_BIN")
    return str(path)


class System:
    """A real system of servers that is put under load. Each system is a subclass."""

    name = ""
    # Packages to install: Debian's; pip's, into a separate environment; npm's.
    packages = ()
    pip = ()
    npm = ()
    # Names of the ports (see Run.port) at which requests enter.
    entry = ("entry",)
    # Ports with one request per connection, so that everything on a connection belongs to its id.
    per_request = ()
    # Ports with connections that carry several concurrent requests (HTTP/2).
    multiplexed = ()
    # Ports at which each request begins with an id. Data without an id continues the request, even if
    # the server has begun to respond.
    marked = ()
    # Ports of brokers whose clients ask for work without knowing which: an id that is only in the
    # response belongs to the delivered work, and the call that asked for it was made for no request.
    deliveries = ()
    # Further options of `sockcap record`.
    record_options = ()
    # Default number of requests of a run.
    requests = 300

    def prepare(self, cache):
        """Installs what is missing. Systems with further needs override it."""
        install = REPOSITORY / "scripts" / "install-servers"
        subprocess.run([install, "tcpdump", *self.packages], check=True)
        if self.pip:
            python = cache / "venv" / "bin" / "python"
            stamp = cache / "venv" / "installed"
            wanted = "\n".join(self.pip)
            if not stamp.exists() or stamp.read_text() != wanted:
                subprocess.run([sys.executable, "-m", "venv", cache / "venv"], check=True)
                command = [python, "-m", "pip", "install", "--quiet", *self.pip]
                if subprocess.run(command).returncode != 0:
                    raise RuntimeError(f"could not be installed by pip: {', '.join(self.pip)}")
                stamp.write_text(wanted)
        if self.npm and not all((cache / "node_modules" / one).exists() for one in self.npm):
            command = ["npm", "install", "--silent", "--prefix", cache, *self.npm]
            if subprocess.run(command).returncode != 0:
                raise RuntimeError(f"could not be installed by npm: {', '.join(self.npm)}")

    def start(self, run):
        """Starts the servers, recorded, and returns when all of them accept connections."""
        raise NotImplementedError

    def load(self, run, requests, concurrency):
        """Sends the requests from a recorded client, each with a distinct id, and returns at the
        end.
        """
        raise NotImplementedError

    def logged_requests(self, log):
        """The contents of the servers' own logs in this folder, as `server_logs.LoggedRequests` by
        the name of a port. For runs with `names`, in which servers log (`Run.names`).
        """
        return {}

    def stop(self, run):
        """Ends processes that must be ended in order. All others are ended by the harness."""


class Run:
    """One run of a system at one concurrency, in a folder of its own."""

    def __init__(self, system, folder, requests, concurrency, names=False):
        self.system = system
        self.folder = Path(folder)
        self.requests = requests
        self.concurrency = concurrency
        # Whether heads of messages are recorded, and servers log their requests.
        self.names = names
        self.cache = CACHE / system.name
        self.data = self.folder / "data"
        self.state = self.folder / "state"
        self.log = self.folder / "log"
        self.ports = {}
        # Interface of tcpdump. A system in network namespaces sets another one.
        self.interface = "lo"
        self.capture_prefix = []
        self.started = []
        # Functions to be called after the load, while the servers still run.
        self.at_end = []

    def port(self, name):
        """The number of the port with this name: a free port, chosen at the first use, below the range
        of ports that clients get.
        """
        while name not in self.ports:
            number = random.randrange(20000, 32000)
            with socket.socket() as probe:
                try:
                    probe.bind(("127.0.0.1", number))
                except OSError:
                    continue
            if number not in self.ports.values():
                self.ports[name] = number
        return self.ports[name]

    def python(self):
        """The Python with the system's pip packages, or the one that runs this harness."""
        return str(self.cache / "venv" / "bin" / "python") if self.system.pip else sys.executable

    def directory(self, name, user=None):
        """A folder for a server's own files, which belongs to the user that the server runs as."""
        path = self.state / name
        path.mkdir(parents=True, exist_ok=True)
        if user:
            shutil.chown(path, user)
        return path

    def write(self, name, text):
        """A file with that text below `state`, and its path."""
        path = self.state / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def record(self, name, argv, env=None, user=None, host="host", cwd=None, prefix=()):
        """Starts a program under sockcap; `name` is the name of its log. Returns its process."""
        command = [*prefix, program("sockcap"), "record", "--no-config", "-d", self.data]
        command += ["--host", host, *self.system.record_options]
        if self.names:
            if "--protocols" not in self.system.record_options:
                command.append("--protocols")
            env = {**(env or {}), "ACCESS_LOG": "yes"}
        command.append("--")
        if user:
            group = pwd.getpwnam(user).pw_gid
            command += ["setpriv", f"--reuid={user}", f"--regid={group}", "--init-groups", "--"]
        return self.run_unrecorded(name, command + [str(word) for word in argv], env, cwd)

    def run_unrecorded(self, name, argv, env=None, cwd=None):
        """Starts a program that is not recorded, in its own group like the others."""
        with open(self.log / f"{name}.log", "ab") as log:
            process = subprocess.Popen(
                argv,
                env={**os.environ, **{key: str(value) for key, value in (env or {}).items()}},
                cwd=cwd or self.state,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.started.append((name, process))
        return process

    def client(self, script, *arguments, timeout=240, host="client"):
        """Runs a recorded client of `clients/` to its end; fails if the client fails."""
        argv = [self.python(), HERE / "clients" / script, *arguments]
        process = self.record("client", argv, host=host)
        if process.wait(timeout) != 0:
            raise RuntimeError(f"client failed: {self.last_lines('client')}")

    def count(self, name, counts):
        """In a run with names, writes the result of `counts()` to the log `name` after the load."""
        if self.names:
            self.at_end.append(lambda: (self.log / name).write_text(counts()))

    def http_load(self, requests, concurrency, paths, port="entry", close=False):
        """Sends requests for the paths in turn to a web server; `{id}` in them becomes the
        request's id.
        """
        arguments = [self.port(port), "--requests", requests, "--concurrency", concurrency]
        self.client("http_load.py", *arguments, *(["--close"] if close else []), *paths)

    def wait_port(self, name, seconds=30.0):
        """Waits until a server accepts connections at the port of that name."""
        self.wait_until(lambda: accepts(self.port(name)), f"nothing listens at {name}", seconds)

    def wait_until(self, ready, problem, seconds=30.0):
        """Waits until `ready()` is true; fails with `problem` after a time-out."""
        until = time.monotonic() + seconds
        while not ready():
            if time.monotonic() > until:
                raise RuntimeError(f"{self.system.name}: {problem}; {self.last_lines()}")
            time.sleep(0.05)

    def last_lines(self, name=None):
        """The last output of the programs, for messages about failures."""
        names = [name] if name else [name for name, _ in self.started]
        texts = []
        for one in dict.fromkeys(names):
            text = (self.log / f"{one}.log").read_text(errors="replace").strip()
            if text:
                texts.append(f"{one}: " + " | ".join(text.splitlines()[-5:]))
        return "\n  ".join(texts)

    def execute(self):
        """The whole run. No process that it started is left, whether it succeeds or fails."""
        for folder in (self.folder, self.state, self.log, self.data):
            folder.mkdir(parents=True, exist_ok=True)
            folder.chmod(0o755)
        processes.adopt_orphans()
        try:
            self.system.start(self)
            capture = self.begin_capture()
            begun = time.monotonic()
            self.system.load(self, self.requests, self.concurrency)
            seconds = time.monotonic() - begun
            # Requests may cause work after their responses; and the kernel gives tcpdump the last
            # packets up to a second late.
            time.sleep(2.0)
            self.end_capture(capture)
            for each in self.at_end:
                each()
            self.system.stop(self)
        finally:
            processes.end_all()
        self.note(seconds)

    def begin_capture(self):
        """Starts tcpdump, and returns when it listens."""
        command = ["tcpdump", "-i", self.interface, "-n", "-U", "-s", "0", "-B", "131072"]
        command += ["-Z", "root", "--time-stamp-precision=nano"]
        command += ["-w", self.folder / "lo.pcap", "tcp or udp"]
        capture = self.run_unrecorded("tcpdump", [*self.capture_prefix, *map(str, command)])
        log = self.log / "tcpdump.log"
        self.wait_until(lambda: "listening on" in log.read_text(), "tcpdump does not listen")
        return capture

    def end_capture(self, capture):
        """Ends tcpdump, and fails if it dropped packets."""
        processes.end(capture)
        text = (self.log / "tcpdump.log").read_text()
        dropped = re.search(r"(\d+) packets? dropped by kernel", text)
        if not dropped or dropped[1] != "0":
            raise RuntimeError(f"tcpdump did not see all packets: {text.strip()}")

    def note(self, seconds):
        """Writes the facts of this run for the score."""
        system = self.system
        ports = {name: self.ports[name] for name in self.ports}
        about = {
            "system": system.name,
            "concurrency": self.concurrency,
            "requests": self.requests,
            "seconds": round(seconds, 3),
            "ports": ports,
            "entry": list(system.entry),
            "per_request": list(system.per_request),
            "multiplexed": list(system.multiplexed),
            "marked": list(system.marked),
            "deliveries": list(system.deliveries),
        }
        (self.folder / "run.json").write_text(json.dumps(about, indent=2) + "\n")


def accepts(port, address="127.0.0.1"):
    """Whether a program accepts connections at the port."""
    with socket.socket() as probe:
        probe.settimeout(1.0)
        return probe.connect_ex((address, port)) == 0
