"""A web service that responds to everything after a random time, in one thread.

usage: slow.py PORT LEAST MOST      milliseconds
"""

import asyncio
import random
import sys

PORT = int(sys.argv[1])
LEAST, MOST = (float(word) / 1000 for word in sys.argv[2:4])


class Connection(asyncio.Protocol):
    """A connection with one request at a time."""

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        body = data.split(b" ", 2)[1]
        answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        delay = random.uniform(LEAST, MOST)
        asyncio.get_running_loop().call_later(delay, self.transport.write, answer)


async def main():
    """Serves forever."""
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", PORT, backlog=200)
    await server.serve_forever()


asyncio.run(main())
