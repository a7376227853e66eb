"""A web service that answers everything, after a pause as of some work.

usage: answer.py PORT
"""

import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAUSE = 0.002


class Handler(BaseHTTPRequestHandler):
    """Answers with what was asked for."""

    protocol_version = "HTTP/1.1"
    # Head and body of an answer in one packet.
    wbufsize = -1

    def do_GET(self):
        """Answers with the path."""
        time.sleep(PAUSE)
        body = self.path.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Says nothing of each request."""


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
