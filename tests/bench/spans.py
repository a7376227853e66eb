"""Speed and memory of importing spans.

Called by scripts/bench, which builds the programs. OTLP files are generated, JSON lines of spans
with a dozen attributes as instrumentations write them, and imported: bytes of uncompressed JSON
per second on the clock, and per second of processor time, which other load does not affect.
"""

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile

REPOSITORY = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TARGET = os.environ.get("CARGO_TARGET_DIR", os.path.join(REPOSITORY, "target"))
SPANS = os.path.join(TARGET, "release", "examples", "spans")
SERVICES, PODS, SPANS_OF_TRACE, SPANS_OF_LINE = 20, 4, 20, 400


def attribute(key, value):
    kind = "intValue" if isinstance(value, int) else "stringValue"
    return f'{{"key":"{key}","value":{{"{kind}":"{value}"}}}}'


def resource_of(service, pod):
    attributes = [
        attribute("service.name", f"service-{service}"),
        attribute("service.namespace", "shop"),
        attribute("service.version", "1.12.3"),
        attribute("telemetry.sdk.language", "java"),
        attribute("telemetry.sdk.name", "opentelemetry"),
        attribute("host.name", f"service-{service}-{pod}"),
        attribute("k8s.pod.name", f"service-{service}-{pod}"),
        attribute("k8s.node.name", f"node-{(service + pod) % 5}"),
        attribute("container.id", f"{service * PODS + pod:064x}"),
    ]
    return f'{{"attributes":[{",".join(attributes)}]}}'


def span(random, trace, number, span_id, parent, begin, end):
    """A span of a trace: the even ones are servers, the odd ones clients."""
    route = f"/api/v1/things/{random & 63}"
    attributes = [
        CONSTANT,
        attribute("url.path", route),
        attribute("http.response.status_code", 200),
        attribute("server.address", f"service-{(random >> 6) % SERVICES}"),
        attribute("server.port", 8080),
        attribute("thread.id", random >> 12 & 127),
        attribute("thread.name", f"http-nio-8080-exec-{random >> 12 & 127}"),
        attribute("client.address", f"10.0.{random >> 20 & 3}.{random >> 22 & 255}"),
    ]
    name, kind = (f"GET {route}", 2) if number % 2 == 0 else ("GET", 3)
    return (
        f'{{"traceId":"{trace}","spanId":"{span_id}","parentSpanId":"{parent}","flags":256,"name":"{name}",'
        f'"kind":{kind},"startTimeUnixNano":"{begin}","endTimeUnixNano":"{end}",'
        f'"attributes":[{",".join(attributes)}],"status":{{}}}}'
    )


CONSTANT = ",".join([
    attribute("http.request.method", "GET"),
    attribute("url.scheme", "http"),
    attribute("network.protocol.version", "1.1"),
    attribute("user_agent.original", "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101"),
])


def make(path, count):
    """Writes a file of `count` spans; returns its size."""
    randoms, begin, waiting = random.Random(1), 1_700_000_000_000_000_000, {}
    scope = '{"name":"io.opentelemetry.http"}'
    with open(path, "w") as out:

        def flush():
            parts = [
                f'{{"resource":{resource_of(*key)},"scopeSpans":[{{"scope":{scope},"spans":[{",".join(spans)}]}}]}}'
                for key, spans in waiting.items()
            ]
            out.write(f'{{"resourceSpans":[{",".join(parts)}]}}\n')
            waiting.clear()

        written = 0
        while written < count:
            trace, parent = f"{randoms.getrandbits(128):032x}", ""
            begin += randoms.randrange(2_000_000)
            for number in range(SPANS_OF_TRACE):
                chance = randoms.getrandbits(128)
                if number % 2 == 0:
                    service, pod = chance % SERVICES, (chance >> 32) % PODS
                span_id, times = f"{chance >> 64:016x}", (begin + number * 100_000, begin + 50_000_000 - number * 100_000)
                of = span(chance & 0xFFFFFFFF, trace, number, span_id, parent, *times)
                waiting.setdefault((service, pod), []).append(of)
                parent = span_id
                written += 1
                if written % SPANS_OF_LINE == 0:
                    flush()
        if waiting:
            flush()
    return os.path.getsize(path)


def measured(*command):
    """The output of a command, with its processor time and peak memory."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    wrapped = ["/usr/bin/env", "python3", "-c", CHILD, *command]
    done = subprocess.run(wrapped, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    figures, peak = done.stdout.splitlines()
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {**json.loads(figures), "processor": processor, "memory": int(peak) * 1024}


# The peak of one command alone: the peak of all children so far would be the largest one's.
CHILD = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, flush=True)
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--spans", type=float, nargs="+", default=[0.25, 1.0], metavar="MILLIONS")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--file", nargs="+", help="files to import instead of generated ones: FILE...")
    arguments = parser.parse_args()
    work = tempfile.mkdtemp(prefix="bench-spans-")
    try:
        files = [(file, os.path.getsize(file)) for file in arguments.file or []]
        for millions in [] if files else arguments.spans:
            path = os.path.join(work, f"{millions}.jsonl")
            files.append((path, make(path, int(millions * 1e6))))
        head = ["spans", "MB", "MB/s", "MB/s a processor", "s", "processor s", "reading s", "reading processor s", "peak MB"]
        print("".join(f"{name:>20}" for name in head))
        for path, size in files:
            runs = [measured(SPANS, "otlp", os.path.join(work, "data"), path) for _ in range(arguments.runs)]
            best = min(runs, key=lambda run: run["processor"])
            row = [
                f"{best['spans']:,}",
                f"{size / 1e6:.0f}",
                f"{size / 1e6 / best['seconds']:.0f}",
                f"{size / 1e6 / best['processor']:.0f}",
                f"{best['seconds']:.2f}",
                f"{best['processor']:.2f}",
                f"{best['reading']:.2f}",
                f"{best['reading_processor']:.2f}",
                f"{best['memory'] / 1e6:.0f}",
            ]
            print("".join(f"{cell:>20}" for cell in row))
            sys.stdout.flush()
        print("\nTarget: at least 150 MB/s on two processors, in memory that does not grow with the file.")
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    main()
