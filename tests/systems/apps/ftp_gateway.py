"""A web service that keeps files on an FTP server, with one connection per request.

usage: ftp_gateway.py PORT FTP-PORT
"""

import ftplib
import io
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FTP_PORT = int(sys.argv[2])


def keep_and_read(identity):
    """Stores a file, reads it back and removes it. Returns the content that was read."""
    name = f"letter-{identity}.txt"
    text = f"letter {identity}\n".encode() * 50
    read = io.BytesIO()
    connection = ftplib.FTP()
    connection.connect("127.0.0.1", FTP_PORT, timeout=20)
    connection.login("anonymous", "visitor@example.test")
    connection.cwd("letters")
    connection.storbinary(f"STOR {name}", io.BytesIO(text))
    connection.retrbinary(f"RETR {name}", read.write)
    connection.delete(name)
    connection.quit()
    if read.getvalue() != text:
        raise ValueError(f"{name} was not read as it was written")
    return read.getvalue()


class Handler(BaseHTTPRequestHandler):
    """Responds to /ID with the file of that name."""

    protocol_version = "HTTP/1.1"
    # Head and body of a response in one packet.
    wbufsize = -1

    def do_GET(self):
        """Stores and reads a file."""
        try:
            status, body = 200, keep_and_read(self.path.strip("/"))
        except (OSError, EOFError, ValueError, ftplib.Error) as error:
            status, body = 500, repr(error).encode()
            print(repr(error), file=sys.stderr, flush=True)
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Logs nothing for each request."""


ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
