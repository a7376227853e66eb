#!/usr/bin/python3
"""The demo's second application: responds to every request after some milliseconds of work, two by
default.

usage: prices.py PORT [MILLISECONDS]
"""
import http.server
import signal
import sys
import time

WORK = float(sys.argv[2]) / 1000 if len(sys.argv) > 2 else 0.002


class Prices(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(WORK)
        body = b"42"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


# Ends after the call that it is in: a process that a signal kills has no record of its last call.
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Prices).serve_forever()
