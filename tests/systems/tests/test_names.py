"""Tests of reading servers' logs, and of comparing them with sockcap's results."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import server_logs  # noqa: E402


class Logs(unittest.TestCase):
    """Reading logs."""

    def read(self, reader, text):
        """The reader's result for a log with this text."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "log"
            path.write_text(text)
            return dict(reader(path).pairs)

    def test_routes(self):
        text = "access GET /page/skid0000001x?x=y 200\nstarted\nmore access POST /pay 500\n"
        expected = {("GET /page/{}", "200"): 1, ("POST /pay", "500"): 1}
        self.assertEqual(self.read(server_logs.access, text), expected)

    def test_statements(self):
        for text, name in [
            ("SELECT 70 AS price /* skid0000001x */", "SELECT"),
            ("INSERT INTO payments (name) VALUES ('FROM x')", "INSERT payments"),
            ('SELECT "a"."b" FROM "shop_order" WHERE c = 1', "SELECT shop_order"),
            ("SELECT a FROM one LEFT JOIN two ON (b) WHERE c", "SELECT one two"),
            ("SELECT a FROM one, two WHERE c", "SELECT one two"),
            ("SELECT FOUND_ROWS()", "SELECT"),
            ("SELECT * FROM rows_of(1)", "SELECT"),
            ("CREATE TABLE IF NOT EXISTS t2 (n INT)", "CREATE TABLE t{}"),
            ("INSERT INTO a (b) VALUES (1) ON DUPLICATE KEY UPDATE b = 2", "INSERT a"),
            ("DESCRIBE wp_users;", "DESCRIBE wp_users"),
            ("SET NAMES utf8", "SET"),
            ("SELECT a FROM one WHERE b = '" + "x" * 250 + "' OR c IN (SELECT d FROM two)", "SELECT one"),
            ("SELECT " + "a, " * 79 + " b FROM books", "SELECT"),
        ]:
            self.assertEqual(server_logs.statement(text), name)

    def test_postgres(self):
        text = (
            "said 7 00000 LOG:  statement: SELECT a\n\tFROM books\n"
            "said 8 00000 LOG:  execute <unnamed>: INSERT INTO books VALUES ($1)\n"
            "said 8 23505 ERROR:  duplicate key\nsaid 8 23505 DETAIL:  Key exists.\n"
            "said 8 23505 STATEMENT:  INSERT INTO books VALUES ($1)\n"
            "said 7 57P01 FATAL:  terminating connection\n"
        )
        expected = {("SELECT books", ""): 1, ("INSERT books", "23505"): 1}
        self.assertEqual(self.read(server_logs.postgres, text), expected)

    def test_mariadb(self):
        text = (
            "260101 10:00:00\t     3 Connect\tshop@localhost on shop using TCP/IP\n"
            "\t\t     3 Query\tSELECT a\nFROM books\n\t\t     4 Query\tSELECT b FROM other\n"
            "\t\t     3 Init DB\tshop\n\t\t     3 Quit\t\n"
        )
        expected = {("LOGIN", None): 1, ("SELECT books", None): 1, ("INIT_DB", None): 1}
        self.assertEqual(self.read(server_logs.mariadb, text), expected)

    def test_counts(self):
        text = (
            "cmdstat_get:calls=3,usec=9,usec_per_call=3.00,rejected_calls=0,failed_calls=1\r\n"
            "cmdstat_info:calls=1,usec=9,usec_per_call=9.00,rejected_calls=0,failed_calls=0\r\n"
            "errorstat_WRONGTYPE:count=1\r\n"
        )
        expected = {("GET", ""): 2, ("", "WRONGTYPE"): 1}
        self.assertEqual(self.read(server_logs.redis, text), expected)
        text = "STAT cmd_get 5\r\nSTAT cmd_set 2\r\nSTAT cmd_touch 1\r\n"
        self.assertEqual(self.read(server_logs.memcached, text), {("get", None): 5, ("set", None): 2})

    def test_mail(self):
        text = (
            "postfix/smtpd[7]: disconnect from a[127.0.0.1] ehlo=1 mail=1 rcpt=1/2 data=1 commands=4/5\n"
            "postfix/lmtp[8]: A: to=<a@b>, relay=c, dsn=2.0.0, status=sent (250 2.0.0 <a@b> Saved)\n"
        )
        smtp = {(name, None): 1 for name in ("EHLO", "MAIL", "RCPT", "DATA", "message")}
        self.assertEqual(self.read(server_logs.smtp, text), smtp)
        self.assertEqual(self.read(server_logs.lmtp, text), {("message", "250"): 1})


    def test_imap(self):
        with tempfile.TemporaryDirectory() as folder:
            says = "1.5 ABCD1 NOOP\n1.6 ABCD2 UID FETCH 1 (BODY[])\n1.7 ABCD3 SELECT x\n"
            (Path(folder) / "a.in").write_text(says)
            fetched = "1.6 * 1 FETCH (BODY[] {300}\n1.6 " + "x" * 300 + ")\n1.6 ABCD2 OK Fetch.\n"
            out = "1.5 ABCD1 OK Noop.\n" + fetched + "1.7 ABCD3 NO Select.\n"
            (Path(folder) / "a.out").write_text(out)
            expected = {("NOOP", "OK"): 1, ("UID FETCH", ""): 1, ("SELECT", "NO"): 1}
            self.assertEqual(dict(server_logs.imap(Path(folder)).pairs), expected)


class Known(unittest.TestCase):
    """The found names that a server could know."""

    def test_found_names(self):
        found = {("GET", ""): 2, ("GET", "ERR"): 1, ("INFO", ""): 1}
        apart = server_logs.LoggedRequests({("GET", ""): 2}, unlogged=("INFO",), failed_apart=True)
        self.assertEqual(dict(apart.known(found)), {("GET", ""): 2, ("", "ERR"): 1})
        names = server_logs.LoggedRequests({("GET", None): 3}, only=("GET",))
        self.assertEqual(dict(names.known(found)), {("GET", None): 3})


if __name__ == "__main__":
    unittest.main()
