"""A web service that responds to everything, after a pause that simulates work.

usage: answer.py PORT
"""

import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PAUSE = 0.002


class Handler(BaseHTTPRequestHandler):
    """Responds with the requested path."""

    protocol_version = "HTTP/1.1"
    # Head and body of a response in one packet.
    wbufsize = -1

    def do_GET(self):
        """Responds with the path."""
        time.sleep(PAUSE)
        body = self.path.encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Logs nothing for each request."""


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
