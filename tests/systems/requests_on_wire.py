"""The requests of a connection that carries several requests concurrently, read from its bytes on
the wire.

In HTTP/2 each stream is a request, in Redis each command: a packet may contain many requests, and a
request may span many packets. Other protocols are not divided here.
"""

import bisect
from dataclasses import dataclass, field

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
FRAME_HEAD_BYTES = 9
HEADERS = 1


@dataclass
class SentBytes:
    """Everything that one side of a connection sent, with times."""

    parts: list = field(default_factory=list)

    def take(self, packet):
        """Adds a segment, in any order."""
        if packet.payload:
            self.parts.append((packet.sequence, packet.time, packet.payload))

    def assembled(self):
        """The bytes in their order, and a function that returns the time of the byte at an offset.
        """
        if not self.parts:
            return b"", None
        first = self.parts[0][0]
        # Distances of sequence numbers are modulo 2^32.
        placed = [((at - first + 2**31) % 2**32 - 2**31, time, part) for at, time, part in self.parts]
        placed.sort(key=lambda one: one[:2])
        whole, places, times = bytearray(), [], []
        begin = placed[0][0]
        for at, time, part in placed:
            new = part[max(begin + len(whole) - at, 0):]
            if new:
                places.append(len(whole))
                times.append(time)
                whole += new
        return bytes(whole), lambda place: times[bisect.bisect_right(places, place) - 1]


@dataclass
class Request:
    """A request: the times of its first and last byte in ns since 1970, its content, its size on the
    wire in bytes, and its HTTP/2 stream.
    """

    start: int
    sent: int
    text: bytes
    size: int
    stream: int = None


def requests(side):
    """The requests that one side of a connection sent, or `None` for another protocol."""
    whole, time = side.assembled()
    if whole.startswith(PREFACE):
        return list(streams(whole, time))
    if whole[:1] == b"*" and whole[1:2].isdigit():
        return list(commands(whole, time))
    return None


def streams(whole, time):
    """A request for each HTTP/2 stream that began with headers, in the order of the headers."""
    found = {}
    at = len(PREFACE)
    while at + FRAME_HEAD_BYTES <= len(whole):
        length = int.from_bytes(whole[at : at + 3], "big")
        kind, stream = whole[at + 3], int.from_bytes(whole[at + 5 : at + 9], "big") & 0x7FFFFFFF
        end = at + FRAME_HEAD_BYTES + length
        if end > len(whole):
            break
        if kind == HEADERS and stream not in found:
            found[stream] = Request(time(at), 0, b"", 0, stream)
        if (request := found.get(stream)) is not None and kind < 2:
            # Only headers and data are parts of the request; other frames control its stream.
            request.text += whole[at + FRAME_HEAD_BYTES : end]
            request.size += end - at
            request.sent = time(end - 1)
        at = end
    return found.values()


def commands(whole, time):
    """Each Redis command: an array of strings, each with its length."""
    at = 0
    while at < len(whole):
        begin = at
        line = whole.find(b"\r\n", at)
        if whole[at : at + 1] != b"*" or line < 0 or not whole[at + 1 : line].isdigit():
            return
        count, at = int(whole[at + 1 : line]), line + 2
        for _ in range(count):
            line = whole.find(b"\r\n", at)
            if whole[at : at + 1] != b"$" or line < 0 or not whole[at + 1 : line].isdigit():
                return
            at = line + 2 + int(whole[at + 1 : line]) + 2
        if at > len(whole):
            return
        yield Request(time(begin), time(at - 1), whole[begin:at], at - begin)
