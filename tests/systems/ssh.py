"""OpenSSH: a tunnel that carries many connections, and commands with one connection each.

ssh's traffic is encrypted, so the packets show ids only before and after it. The truth is that the
far end's call to a service with an id is made for the request that arrived with that id.
"""

import subprocess
from pathlib import Path

import harness

# sshd needs this folder, which exists if the machine starts it as a service.
PRIVILEGES = Path("/run/sshd")


class Ssh(harness.System):
    """The common part of both ways to use ssh: the server, its keys and a backend."""

    packages = ("openssh-server", "openssh-client")

    def start_server(self, run):
        """Starts the service and sshd. Returns the command of a client, without its last words."""
        apps = harness.HERE / "apps"
        run.record("back", [run.python(), apps / "answer.py", run.port("back")], host="far")
        run.wait_port("back")
        keys = run.directory("keys")
        keys.chmod(0o700)
        for name in ("server", "client"):
            command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", keys / name]
            subprocess.run(command, check=True)
        settings = run.write(
            "sshd_config",
            f"""ListenAddress 127.0.0.1:{run.port('sshd')}
HostKey {keys}/server
AuthorizedKeysFile {keys}/client.pub
PidFile none
UsePAM no
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
MaxStartups 100
""",
        )
        PRIVILEGES.mkdir(mode=0o755, exist_ok=True)
        run.record("sshd", ["/usr/sbin/sshd", "-D", "-e", "-f", settings], host="far")
        run.wait_port("sshd")
        client = ["ssh", "-F", "/dev/null", "-i", keys / "client", "-p", run.port("sshd")]
        # The server has a new key in each run.
        client += ["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"]
        client += ["-o", "LogLevel=ERROR"]
        return [str(word) for word in client]

    def load(self, run, requests, concurrency):
        run.http_load(requests, concurrency, ["/{id}"])


class Tunnel(Ssh):
    """A client that reaches a service through a forwarded port: one connection for all requests."""

    name = "ssh-tunnel"

    def start(self, run):
        client = self.start_server(run)
        forward = f"127.0.0.1:{run.port('entry')}:127.0.0.1:{run.port('back')}"
        run.record("ssh", [*client, "-N", "-L", forward, "root@127.0.0.1"], host="near")
        run.wait_port("entry")


class Command(Ssh):
    """A web service that runs a command through ssh for each request."""

    name = "ssh-command"
    packages = (*Ssh.packages, "curl")
    # The command makes one connection.
    per_request = ("back",)
    # A command through ssh starts about ten programs, and those of the user's shell.
    requests = 24

    def start(self, run):
        client = self.start_server(run)
        gateway = [run.python(), harness.HERE / "apps" / "ssh_gateway.py", run.port("entry")]
        gateway += [run.port("back"), *client, "root@127.0.0.1"]
        run.record("gateway", gateway, host="near")
        run.wait_port("entry")
