"""Time until the HTML page can be used, with 10 to 10,000 patterns: synthetic calls, each path of
them another pattern, reported by sockcap and opened in Debian's Chromium by web/bench.mjs. Prints
a table; asserts nothing.
"""

import argparse
import json
import os
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOCKCAP = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "release/sockcap"
COLUMNS = "call_id,caller,callee,t_call_send,t_call_recv,t_ret_send,t_ret_recv"


def calls(ways):
    """CSV lines of the calls of `ways` requests, each from an untraced client of its own and on another
    path through three rows of services.
    """
    yield COLUMNS
    for way in range(ways):
        begin, work = way * 20_000, 1000 + way * 7919 % 3000
        front, middle, back = way % 22, way // 22 % 22, way // 484
        at = lambda micros: (begin + micros) * 1000
        yield f"{way}a,client-{way},front-{front},,{at(100)},{at(6000 + work)},"
        yield f"{way}b,front-{front},middle-{middle},{at(1000)},{at(1100)},{at(4000 + work)},{at(4100 + work)}"
        yield f"{way}c,middle-{middle},back-{back},{at(2000)},{at(2100)},{at(2500 + work)},{at(2600 + work)}"


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--patterns", type=int, nargs="+", default=[10, 1000, 10_000])
    patterns = arguments.parse_args().patterns
    with tempfile.TemporaryDirectory() as work:
        pages = []
        for ways in patterns:
            path = pathlib.Path(work, f"{ways}")
            path.with_suffix(".csv").write_text("\n".join(calls(ways)) + "\n")
            for command in (["import", "calls", f"{path}.csv"], ["report", "--html", f"{path}.html"]):
                subprocess.run([SOCKCAP, *command, "-d", path], check=True, capture_output=True)
            pages.append(f"{path}.html")
        node = ["node", ROOT / "report/web/bench.mjs", *pages]
        lines = subprocess.run(node, check=True, capture_output=True, text=True).stdout.splitlines()
        print("| patterns | page, MB | rows | search | other order | a pattern in full | rows: times the first |")
        print("|---|---|---|---|---|---|---|")
        figures = [json.loads(line) for line in lines]
        for ways, page, of in zip(patterns, pages, figures):
            size = pathlib.Path(page).stat().st_size / 1e6
            ratio = of["rows"] / figures[0]["rows"]
            row = [f"{of[name]} ms" for name in ("rows", "searched", "sorted", "pattern")]
            print(f"| {ways:,} | {size:.2f} | {' | '.join(row)} | {ratio:.2f} |")


main()
