"""Tables of scores, as markdown."""

HEAD = (
    "system", "at once", "requests/s", "calls known", "calls seen", "calls right",
    "requests right", "sure links right", "patterns", "largest",
)


NAMES_HEAD = ("system", "at once", "port", "requests logged", "as logged", "not as logged")


def names_rows(rows):
    """A row for each port with entries in a server's log."""
    for row in rows:
        right = share(row["right"], row["requests"])
        of = (row["system"], row["concurrency"], row["port"], row["requests"])
        yield *of, right, len(row["missing"]) + len(row["wrong"])


def share(part, whole):
    """`part / whole` with its percentage."""
    return f"{part}/{whole} ({100 * part / whole:.1f}%)" if whole else "-"


def rows(scores):
    """A row for each score."""
    for one in scores:
        yield (
            one["system"],
            one["concurrency"],
            one["per_second"],
            one["calls_known"],
            share(one["calls_had"], one["calls_known"]),
            share(one["calls_right"], one["calls_known"]),
            share(one["requests_right"], one["requests"]),
            share(one["sure_right"], one["sure"]),
            one["patterns"],
            f"{100 * one['largest']:.0f}%",
        )


def hop_rows(scores):
    """A row for each port of each score."""
    for one in scores:
        for name, hop in one["hops"].items():
            known = hop["known"]
            had, right = share(hop["had"], known), share(hop["right"], known)
            yield one["system"], one["concurrency"], name, known, had, right


def wrong_lines(scores, limit=8):
    """A line for each kind of wrongly attributed calls, the most frequent first."""
    for one in scores:
        for what, count in list(one["wrong"].items())[:limit]:
            yield f"{one['system']} at {one['concurrency']}: {count} times {what}"


def markdown(head, lines):
    """A markdown table."""
    table = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in table)
