#!/usr/bin/python3
"""The demo's second application: answers every request after two milliseconds of work.

usage: prices.py PORT
"""
import http.server
import sys
import time


class Prices(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(0.002)
        body = b"42"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Prices).serve_forever()
