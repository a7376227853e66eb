"""FTP: a web service that stores and reads files on vsftpd.

The server greets first, and forks for each connection. Files are transferred over separate
connections: stored ones are sent by the service, read ones by the server, without a request on
that connection.
"""

import harness

# Number of the server's ports for files.
DATA_PORTS = 100


class Ftp(harness.System):
    """vsftpd as the backend of a web service in Python.

    By default, vsftpd puts the process of each connection into a separate network namespace.
    """

    isolate = "YES"

    name = "ftp"
    packages = ("vsftpd",)
    per_request = ("ftp",) + tuple(f"data{number}" for number in range(DATA_PORTS))
    # Each connection is two processes, and their logs need space.
    requests = 60

    def start(self, run):
        first = self.block_of_ports(run)
        top = run.directory("ftp")
        (run.directory("ftp/letters", user="ftp")).chmod(0o755)
        (run.directory("empty")).chmod(0o555)
        settings = run.write(
            "vsftpd.conf",
            f"""listen=YES
background=NO
listen_address=127.0.0.1
listen_port={run.port('ftp')}
anonymous_enable=YES
local_enable=NO
write_enable=YES
anon_root={top}
anon_upload_enable=YES
anon_other_write_enable=YES
anon_umask=022
anon_world_readable_only=NO
secure_chroot_dir={run.state}/empty
pasv_min_port={first}
pasv_max_port={first + DATA_PORTS - 1}
xferlog_enable=NO
connect_from_port_20=NO
isolate_network={self.isolate}
""",
        )
        run.record("vsftpd", ["vsftpd", settings])
        run.wait_port("ftp")
        gateway = harness.HERE / "apps" / "ftp_gateway.py"
        run.record("gateway", [run.python(), gateway, run.port("entry"), run.port("ftp")])
        run.wait_port("entry")

    @staticmethod
    def block_of_ports(run):
        """The first of the consecutive free ports for files."""
        for _ in range(20):
            first = run.port("data0")
            block = {f"data{number}": first + number for number in range(DATA_PORTS)}
            others = {port for name, port in run.ports.items() if name != "data0"}
            if not any(port in others or harness.accepts(port) for port in block.values()):
                run.ports.update(block)
                return first
            del run.ports["data0"]
        raise RuntimeError(f"no {DATA_PORTS} free ports, one after the other")

    def load(self, run, requests, concurrency):
        run.http_load(requests, concurrency, ["/{id}"])


class FtpShared(Ftp):
    """The same, with all of vsftpd's processes in the network namespace of the machine."""

    name = "ftp-shared"
    isolate = "NO"
