"""OpenSSH: a tunnel that carries many connections, and commands that run behind a connection each.

What ssh sends is encrypted, so the packets show ids only before and behind it. The truth is that
what the far end asks a service with an id is done for the request that came in with that id.
"""

import subprocess
from pathlib import Path

import harness

# sshd wants this folder, which is made when a machine starts it as a service.
PRIVILEGES = Path("/run/sshd")


class Ssh(harness.System):
    """What both ways to use ssh have in common: the server, its keys and a service behind it."""

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
        # The server's key is a new one in each run.
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
    """A web service that runs a command by ssh for each request."""

    name = "ssh-command"
    packages = (*Ssh.packages, "curl")
    # The command makes one connection.
    per_request = ("back",)
    # A command by ssh starts some ten programs, and those of the shell of the user.
    requests = 24

    def start(self, run):
        client = self.start_server(run)
        gateway = [run.python(), harness.HERE / "apps" / "ssh_gateway.py", run.port("entry")]
        gateway += [run.port("back"), *client, "root@127.0.0.1"]
        run.record("gateway", gateway, host="near")
        run.wait_port("entry")
