"""The servers' own logs and counts, as counts of names and statuses.

A name is made from a log's literal text by a rule of this file, which is independent of sockcap's:
a segment of a path with a digit in it is `{}`, and a statement is its first word with the tables
that follow words such as FROM. A status of None is missing in the log.
"""

import re
import socket
from collections import Counter, defaultdict

# sockcap keeps this many bytes of a turn, which is all data that one side of a connection sends before
# the other responds, in protocols other than HTTP. This many of them are the statement in PostgreSQL
# and in MySQL.
TURN_BYTES = 256
STATEMENT_BYTES = TURN_BYTES - 5

KINDS_WITH_TABLES = ("SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "DESCRIBE")
KINDS_WITH_TABLES += ("CREATE TABLE", "DROP TABLE")
TWO_WORDS = ("CREATE", "DROP", "ALTER")
# A name before a parenthesis is a function's if it stands for rows.
TABLES = [
    re.compile(r"\b(?:FROM|JOIN)\s+([\"`\w.]+)(?![\"`\w.]|\s*\()", re.IGNORECASE),
    re.compile(r"\bFROM\s+[\"`\w.]+(?:\s+(?:AS\s+)?\w+)?\s*,\s*([\"`\w.]+)", re.IGNORECASE),
    re.compile(r"(?:\bINTO|^\s*(?:UPDATE|DESCRIBE))\s+([\"`\w.]+)", re.IGNORECASE),
    re.compile(r"\bTABLE\s+(?:IF\s+(?:NOT\s+)?EXISTS\s+)?([\"`\w.]+)", re.IGNORECASE),
]


class LoggedRequests:
    """A server's log of one port: how often each name had each status.

    `only`: the names that the server counts, if it does not count others. `unlogged`: names that it
    does not log. `failed_apart`: failed requests are counted without a name. `least`: the share of
    the logged requests that sockcap must find; below 1 if clients send more at a time than sockcap
    keeps.
    """

    def __init__(self, pairs, only=None, unlogged=(), failed_apart=False, least=1.0):
        self.pairs = Counter(pairs)
        self.only = only
        self.unlogged = unlogged
        self.failed_apart = failed_apart
        self.least = least

    def known(self, found):
        """The found names that the server logs, without statuses if the log has none."""
        statuses = any(status is not None for _, status in self.pairs)
        result = Counter()
        for (name, status), count in found.items():
            if name not in self.unlogged and (self.only is None or name in self.only):
                name = "" if status and self.failed_apart else name
                result[name, status if statuses else None] += count
        return result


def route(method, target):
    """`GET /page/{}` for a method and a target such as `/page/17?x=y`."""
    path = target.partition("?")[0]
    segments = ["{}" if re.search(r"\d", segment) else segment for segment in path.split("/")]
    return f"{method} {'/'.join(segments)}"


def statement(text):
    """`SELECT books` for a statement, as far as its first bytes show it."""
    cut = len(text.encode()) > STATEMENT_BYTES
    text = text.encode()[:STATEMENT_BYTES].decode(errors="ignore")
    text = re.sub(r"/\*.*?(?:\*/|$)", " ", text, flags=re.DOTALL)
    # Words in a literal name no table; a truncated literal hides the rest.
    text = re.sub(r"'(?:[^']|'')*(?:'|$)", "?", text)
    if cut:
        text = re.sub(r"[\"`\w.]+$", "", text)
    words = re.findall(r"\w+", text)
    if not words:
        return ""
    kind = words[0].upper()
    if kind in TWO_WORDS and len(words) > 1:
        kind = f"{kind} {words[1].upper()}"
    tables = []
    if kind in KINDS_WITH_TABLES:
        found = [(match.start(1), match[1]) for rule in TABLES for match in rule.finditer(text)]
        for _, table in sorted(found):
            name = re.sub(r"\d+", "{}", table.rpartition(".")[2].strip("\"`"))
            if name and name not in tables:
                tables.append(name)
    return " ".join([kind, *tables[:4]])


def access(path):
    """Requests of a log with lines of the form `access METHOD TARGET STATUS`."""
    logged = Counter()
    for line in lines(path):
        if found := re.search(r"\baccess ([A-Z]+) (\S+) (\d{3})$", line):
            logged[route(found[1], found[2]), found[3]] += 1
    return LoggedRequests(logged)


def calls(path):
    """gRPC calls in a log with lines of the form `access SERVICE/METHOD STATUS`."""
    # Threads may write two calls into one line.
    return LoggedRequests(re.findall(r"access ([\w.]+/\w+) ([A-Z_]+)", path.read_text(errors="replace")))


def lines(path):
    """The lines of a log."""
    return path.read_text(errors="replace").splitlines()


# Settings of PostgreSQL for `postgres`.
POSTGRES = {"log_statement": "all", "log_line_prefix": "said %p %e "}


def postgres(path):
    """Statements of PostgreSQL's log, each with the SQLSTATE of its error."""
    entries = []
    for line in lines(path):
        if found := re.match(r"said (\d+) (\w{5}) (\w+):  (.*)", line):
            entries.append([*found.groups()])
        elif entries and line.startswith("\t"):
            entries[-1][3] += "\n" + line[1:]
    done = []
    open_of = {}
    for process, state, level, text in entries:
        if found := re.match(r"(?:statement|execute [^:]*): (.*)", text, re.DOTALL):
            if level == "LOG":
                done.append([statement(found[1]), ""])
                open_of[process] = done[-1]
        elif level == "ERROR" and process in open_of:
            open_of.pop(process)[1] = state
    return LoggedRequests(map(tuple, done), unlogged=("STARTUP", "AUTHENTICATE", "TLS"))


COMMAND = re.compile(
    r"(?:\d{6}\s+[\d:]+)?\s*(\d+) (Connect|Quit|Query|Prepare|Execute|Init DB|Ping|Close stmt)\b\t?(.*)"
)


def mariadb(path):
    """Commands of MariaDB's general log by clients over TCP. It does not log errors."""
    entries = []
    for line in lines(path):
        if found := COMMAND.match(line):
            entries.append([*found.groups()])
        elif entries:
            entries[-1][2] += "\n" + line
    by_tcp = {number for number, kind, text in entries if kind == "Connect" and "TCP/IP" in text}
    logged = Counter()
    for number, kind, text in entries:
        names = {
            "Connect": "LOGIN",
            "Query": statement(text),
            "Execute": statement(text),
            "Prepare": f"PREPARE {statement(text)}",
            "Init DB": "INIT_DB",
            "Ping": "PING",
            # These have no response.
            "Quit": None,
            "Close stmt": None,
        }
        if number in by_tcp and names[kind] is not None:
            logged[names[kind], None] += 1
    return LoggedRequests(logged)


def query_server(port, question, end):
    """The response of a text protocol server to a request, up to this end."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(question)
        answer = b""
        while not answer.endswith(end):
            answer += connection.recv(65536) or end
    return answer.decode()


def redis_counts(port):
    """How often Redis has run each command: a text for `redis`."""
    return "".join(
        query_server(port, f"*2\r\n$4\r\nINFO\r\n${len(part)}\r\n{part}\r\n".encode(), b"\r\n")
        for part in ("commandstats", "errorstats")
    )


def redis(path, least=1.0):
    """Commands that Redis has counted, except for the request for the counts."""
    logged = Counter()
    for line in lines(path):
        if found := re.match(r"cmdstat_(\w+)[^:]*:calls=(\d+).*,failed_calls=(\d+)", line):
            logged[found[1].upper(), ""] += int(found[2]) - int(found[3])
        if found := re.match(r"errorstat_(\w+):count=(\d+)", line):
            logged["", found[1]] += int(found[2])
    # The request for the counts.
    del logged["INFO", ""]
    return LoggedRequests(+logged, unlogged=("INFO",), failed_apart=True, least=least)


def memcached_counts(port):
    """How often memcached has run each command: a text for `memcached`."""
    return query_server(port, b"stats\r\n", b"END\r\n")


def memcached(path):
    """Commands that memcached counts separately."""
    counts = dict(re.findall(r"STAT cmd_(get|set) (\d+)", path.read_text()))
    logged = {(name, None): int(count) for name, count in counts.items()}
    return LoggedRequests(logged, only=("get", "set"))


def smtp(path):
    """Commands that Postfix logs at the end of each connection that it accepted."""
    logged = Counter()
    for line in lines(path):
        if "/smtpd[" in line and (found := re.search(r": disconnect from .*\] (.*)", line)):
            for verb, done in re.findall(r"(\w+)=(\d+)", found[1]):
                logged[verb.upper(), None] += int(done)
    del logged["COMMANDS", None]
    # A mail is a separate message after the request whether it may be sent.
    logged["message", None] = logged["DATA", None]
    return LoggedRequests(+logged)


def lmtp(path):
    """Mails that Postfix passed to another server, and its responses."""
    delivered = [line for line in lines(path) if "/lmtp[" in line and " status=" in line]
    codes = [re.search(r"\((?:host .* said: )?(\d{3}) ", line) for line in delivered]
    return LoggedRequests((("message", code[1] if code else None) for code in codes), only=("message",))


def imap(folder):
    """Commands that Dovecot logged of each session after its login, and its responses.

    A response that is longer than the kept bytes of a turn does not show its end.
    """
    logged = Counter()
    for path in folder.glob("*.in"):
        statuses = {}
        size = 0
        for line in lines(path.with_suffix(".out")):
            line = line.partition(" ")[2]
            if found := re.match(r"([A-Z]{4}\d+) (OK|NO|BAD) ", line):
                statuses[found[1]] = found[2] if size + found.end() <= TURN_BYTES else ""
                size = 0
            else:
                size += len(line) + 2
        for line in lines(path):
            if found := re.match(r"\S+ ([A-Z]{4}\d+) (UID \w+|\w+)", line):
                logged[found[2].upper(), statuses.get(found[1])] += 1
    return LoggedRequests(logged, unlogged=("CAPABILITY", "LOGIN"))
