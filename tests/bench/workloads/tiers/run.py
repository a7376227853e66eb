"""A real system of two tiers, a web server (gunicorn) and PostgreSQL, under a mixture of
transactions, recorded.
"""

import collections
import os
import shutil
import subprocess
import sys
from pathlib import Path

import program

HERE = Path(__file__).resolve().parent
sys.path.insert(0, os.path.join(program.REPOSITORY, "tests", "systems"))

import harness  # noqa: E402
import processes  # noqa: E402
import shared_servers  # noqa: E402

from workloads.runs import Account  # noqa: E402

# The requests to the shop in Table 6, and in Table 7, which has 751 + 392 + 302 + 30 + 21 requests.
ORDERS = "n" * 42 + "p" * 41 + "o" * 4 + "d" * 4 + "s" * 3 + "v" * 6
NAMES = {"k": "book", "g": "categories", "l": "log on", "n": "new order", "p": "payment", "o": "order status",
         "d": "delivery", "s": "stock level", "v": "version"}

# The database does not fit into its buffers, as in the paper (7.2), and its log is written to disk.
SETTINGS = {"shared_buffers": "16MB", "fsync": "on", "autovacuum": "off"}

Tiers = collections.namedtuple("Tiers", "data accounts")


class Shop(harness.System):
    """The shop; [`run`] runs it."""

    name = "two-tiers"
    packages = ("postgresql",)
    pip = ("gunicorn", "psycopg2-binary")


class Recorded(harness.Run):
    """A run whose servers are recorded with the additional arguments `options`, or not recorded if
    `options` is `None`.
    """

    def __init__(self, folder, options):
        super().__init__(Shop(), folder, 0, 0)
        self.options = options

    def run_unrecorded(self, name, argv, env=None, cwd=None):
        argv = list(map(str, argv))
        if "record" in argv[:3]:
            place = argv.index("record") + 1
            argv = argv[argv.index("--") + 1:] if self.options is None else argv[:place] + list(self.options) + argv[place:]
        return super().run_unrecorded(name, argv, env, cwd)


def run(work, name, mix, clients, requests, seed=1, options=("--resources",)):
    """Runs the shop under a mixture; returns the recording and the requests: rows of the client's
    table.
    """
    folder = Path(work, name)
    os.environ.setdefault("SOCKCAP_BIN", os.path.dirname(program.SOCKCAP))
    of = Recorded(folder, options)
    of.system.prepare(of.cache)
    for path in (of.folder, of.state, of.log, of.data):
        path.mkdir(parents=True, exist_ok=True)
        path.chmod(0o755)
    truth = folder / "truth.csv"
    processes.adopt_orphans()
    try:
        shared_servers.postgres(of, statements=None, more=SETTINGS.items())
        port = str(of.port("database"))
        subprocess.run(["psql", "-h", "127.0.0.1", "-p", port, "-U", "postgres", "-q", "-v", "ON_ERROR_STOP=1", "-f",
                        HERE / "shop.sql"], check=True, stdout=subprocess.DEVNULL)
        image = of.write("image", "x" * 20_000)
        shutil.copy(HERE / "shop.py", of.directory("apps"))
        accounts = of.directory("accounts")
        os.chmod(accounts, 0o777)
        env = {"SHOP_DATABASE": f"host=127.0.0.1 port={port} user=postgres dbname=postgres", "SHOP_IMAGE": image,
               "SHOP_ACCOUNTS": accounts}
        argv = [of.python(), "-m", "gunicorn", "--no-control-socket", "--log-level", "warning", "--workers", 4,
                "--bind", f"127.0.0.1:{of.port('entry')}", "shop:application"]
        of.record("web", argv, env=env, cwd=of.state / "apps")
        of.wait_port("entry")
        program.run(sys.executable, os.path.join(program.REPOSITORY, "tests", "programs", "kinds_client.py"),
                    of.port("entry"), truth, "--mix", mix, "--clients", clients, "--requests", requests, "--seed", seed,
                    "--close")
    finally:
        processes.end_all()
    return Tiers(str(of.data), accounts_of(accounts))


def accounts_of(folder):
    """The web server processes' own records of their requests. Each reads a request between its
    previous work and the work for it.
    """
    accounts = []
    for path in Path(folder).glob("*.csv"):
        process, before = int(path.stem), 0
        for line in path.read_text().splitlines():
            number, kind, begin, end = line.split(",")
            accounts.append(Account(int(number), kind, process, process, 0, before, int(begin), int(end), 0, 0, 0, False))
            before = int(end)
    return accounts
