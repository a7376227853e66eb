"""A MariaDB server that belongs to a run, for systems that need one."""

import shutil
import subprocess

PACKAGES = ("mariadb-server",)


def start(run, database, password):
    """Starts the server with an empty database and a user of the same name, reached over TCP."""
    home = run.directory("mariadb", user="mysql")
    # Only this server's own user may write into it, and other users must be able to reach its
    # socket.
    home.chmod(0o755)
    install = ["mariadb-install-db", "--no-defaults", "--user=mysql", f"--datadir={home}/data"]
    install += ["--auth-root-authentication-method=socket", "--skip-test-db"]
    done = subprocess.run(install, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"mariadb-install-db failed: {done.stdout[-500:]}")
    begin = run.write(
        "mariadb-init.sql",
        f"CREATE DATABASE IF NOT EXISTS {database} CHARACTER SET utf8mb4;\n"
        f"CREATE USER IF NOT EXISTS '{database}'@'127.0.0.1' IDENTIFIED BY '{password}';\n"
        f"GRANT ALL ON {database}.* TO '{database}'@'127.0.0.1';\n",
    )
    server = ["/usr/sbin/mariadbd", "--no-defaults", f"--datadir={home}/data"]
    server += [f"--socket={home}/socket", f"--pid-file={home}/pid", f"--port={run.port('mariadb')}"]
    server += ["--bind-address=127.0.0.1", "--skip-name-resolve", f"--init-file={begin}"]
    if run.names:
        log = run.log / "mariadb.general"
        log.touch()
        shutil.chown(log, "mysql")
        server += ["--general-log", f"--general-log-file={log}"]
    run.record("mariadb", server, user="mysql")
    run.wait_port("mariadb")
