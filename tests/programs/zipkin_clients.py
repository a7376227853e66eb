"""Spans as two Python clients of Zipkin write them: py_zipkin, and OpenTelemetry's exporter.

Each traces a shop that requests prices: the shop serves a request, calls the prices, which serve
that call and look into a table. Writes what the clients send, one array per line, to
py_zipkin.json and opentelemetry.json in the folder given as argument, and prints the number of
requests.

usage: zipkin_clients.py FOLDER REQUESTS
"""

import http.server
import sys
import threading
import time
from pathlib import Path


def with_py_zipkin(file, requests):
    from py_zipkin import Encoding, Kind
    from py_zipkin.request_helpers import create_http_headers, extract_zipkin_attrs_from_headers
    from py_zipkin.transport import BaseTransportHandler
    from py_zipkin.zipkin import zipkin_client_span, zipkin_server_span, zipkin_span

    class ToFile(BaseTransportHandler):
        def get_max_payload_bytes(self):
            return None

        def send(self, payload):
            file.write(payload if isinstance(payload, bytes) else payload.encode())
            file.write(b"\n")

    def settings(service):
        return {
            "service_name": service,
            "transport_handler": ToFile(),
            "encoding": Encoding.V2_JSON,
            "host": "10.0.0.1" if service == "shop" else "10.0.0.2",
            "port": 80,
        }

    def prices(headers):
        attributes = extract_zipkin_attrs_from_headers(headers)
        with zipkin_server_span(
            span_name="get /price", zipkin_attrs=attributes, **settings("prices")
        ) as server:
            server.update_binary_annotations({"http.path": "/price"})
            with zipkin_span(service_name="prices", span_name="look up", kind=Kind.LOCAL):
                time.sleep(0.002)

    for _ in range(requests):
        with zipkin_server_span(
            span_name="get /cart", sample_rate=100, use_128bit_trace_id=True, **settings("shop")
        ):
            with zipkin_client_span(service_name="shop", span_name="get /price") as client:
                client.add_sa_binary_annotation(80, "prices", "10.0.0.2")
                # A separate thread, as spans are kept per thread.
                server = threading.Thread(target=prices, args=(create_http_headers(),))
                server.start()
                server.join()


def with_opentelemetry(file, requests):
    from opentelemetry import trace
    from opentelemetry.exporter.zipkin.json import ZipkinExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.trace import SpanKind, Status, StatusCode

    class Collector(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            file.write(self.rfile.read(int(self.headers["Content-Length"])) + b"\n")
            self.send_response(202)
            self.end_headers()

        def log_message(self, *_):
            pass

    collector = http.server.HTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=collector.serve_forever, daemon=True).start()
    endpoint = f"http://127.0.0.1:{collector.server_port}/api/v2/spans"
    tracers, providers = [], []
    for service, host in [("shop", "web1"), ("prices", "db1")]:
        resource = Resource.create({"service.name": service, "host.name": host})
        provider = TracerProvider(resource=resource)
        provider.add_span_processor(BatchSpanProcessor(ZipkinExporter(endpoint=endpoint)))
        providers.append(provider)
        tracers.append(provider.get_tracer("shop"))
    shop, prices = tracers
    for number in range(requests):
        with shop.start_as_current_span("GET /cart", kind=SpanKind.SERVER):
            attributes = {"peer.service": "prices", "number": number}
            with shop.start_as_current_span("GET /price", kind=SpanKind.CLIENT, attributes=attributes):
                with prices.start_as_current_span("GET /price", kind=SpanKind.SERVER) as server:
                    with prices.start_as_current_span("look up"):
                        time.sleep(0.002)
                    if number == 0:
                        server.set_status(Status(StatusCode.ERROR, "no such price"))
    for provider in providers:
        provider.shutdown()
    collector.shutdown()


def main():
    folder, requests = Path(sys.argv[1]), int(sys.argv[2])
    for name, trace in [("py_zipkin", with_py_zipkin), ("opentelemetry", with_opentelemetry)]:
        with open(folder / f"{name}.json", "wb") as file:
            trace(file, requests)


main()
