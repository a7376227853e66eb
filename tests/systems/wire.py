"""Truth from the wire: the ids of requests in each exchange of each connection.

It is read from the packets that tcpdump wrote, independently of sockcap. An exchange is the data
that a client sends on a connection before the server responds, and the response. If a connection
carries several concurrent requests, each HTTP/2 stream and each Redis command is a separate
exchange (requests_on_wire), and in other protocols each packet with an id.
"""

import re
import struct
from dataclasses import dataclass, field

import requests_on_wire

ID = re.compile(rb"skid\d{7}x")
# Length of an id in bytes. As the end of a packet may cut an id, almost as many bytes of the previous
# packet are searched again.
ID_LENGTH = 12


@dataclass
class Exchange:
    """The data that a client sends before the server responds, and the response. Times are ns since
    1970.
    """

    start: int
    # Time of the last part of the request.
    sent: int = 0
    size: int = 0
    request_ids: set = field(default_factory=set)
    response_ids: set = field(default_factory=set)
    connection: "Connection" = None
    # For HTTP/2: the stream.
    stream: int = None

    def ids(self):
        """The ids of the request, or if it has none those of the response."""
        return self.request_ids or self.response_ids


@dataclass
class Connection:
    """A TCP connection, from the connecting end to the listening end.

    If only the listener sends, as FTP's servers send data that was requested elsewhere, `turned`
    is set: the listener's message then begins the exchange, or responds to the connection.
    """

    client: str
    server: str
    turned: bool = False
    exchanges: list = field(default_factory=list)

    def ids(self):
        """All ids that were seen on the connection."""
        found = set()
        for exchange in self.exchanges:
            found |= exchange.request_ids | exchange.response_ids
        return found


@dataclass
class Packet:
    """A TCP segment, or a UDP datagram."""

    time: int
    src: str
    dst: str
    sequence: int
    opens: bool
    payload: bytes
    datagram: bool = False


def packets(path):
    """The TCP segments and UDP datagrams of a capture file, in order."""
    with open(path, "rb") as file:
        head = file.read(24)
        magic = struct.unpack("<I", head[:4])[0]
        unit = {0xA1B23C4D: 1, 0xA1B2C3D4: 1000}[magic]
        link = struct.unpack("<I", head[20:24])[0]
        while len(record := file.read(16)) == 16:
            seconds, fraction, length, whole = struct.unpack("<IIII", record)
            data = file.read(length)
            if len(data) < length:
                return
            if length < whole:
                raise ValueError(f"{path}: a packet was cut, {length} of {whole} bytes")
            packet = segment(data, link, seconds * 1_000_000_000 + fraction * unit)
            if packet is not None:
                yield packet


def segment(data, link, time):
    """The segment or datagram of a frame (Ethernet or tcpdump's cooked frames), or None."""
    at = {1: 14, 113: 16, 276: 20}[link]
    kind = data[at] >> 4 if len(data) > at else 0
    if kind == 4:
        if data[at + 9] not in (6, 17):
            return None
        tcp = at + (data[at] & 15) * 4
        end = at + struct.unpack_from(">H", data, at + 2)[0]
        hosts = [".".join(map(str, data[at + n : at + n + 4])) for n in (12, 16)]
        # Large segments that the kernel had not cut yet have a length of 0.
        end = end if end > at else len(data)
    elif kind == 6 and data[at + 6] == 6:
        tcp, end = at + 40, len(data)
        hosts = ["[%s]" % data[at + n : at + n + 16].hex() for n in (8, 24)]
    else:
        return None
    if kind == 4 and data[at + 9] == 17:
        src, dst = struct.unpack_from(">HH", data, tcp)
        payload = data[tcp + 8 : end]
        return Packet(time, f"{hosts[0]}:{src}", f"{hosts[1]}:{dst}", 0, False, payload, True)
    src, dst, sequence, _, offset, flags = struct.unpack_from(">HHIIBB", data, tcp)
    payload = data[tcp + (offset >> 4) * 4 : end]
    opens = flags & 0x12 == 0x02
    return Packet(time, f"{hosts[0]}:{src}", f"{hosts[1]}:{dst}", sequence, opens, payload)


class Direction:
    """One direction of a connection: new bytes of a segment, and the ids in it."""

    def __init__(self):
        self.expected = None
        self.tail = b""
        # Missing bytes so far: the number of bytes of each gap, by the sequence number of its first.
        self.missing = {}

    def take(self, packet):
        """The ids that end in this segment, and the number of its bytes that were not seen before."""
        payload = packet.payload
        if self.expected is not None:
            # Distances of sequence numbers are modulo 2^32; a negative one was sent before.
            ahead = (packet.sequence - self.expected + 2**31) % 2**32 - 2**31
            if packet.sequence in self.missing and payload:
                # Segments from two processors may be captured in another order than they were sent.
                left = self.missing.pop(packet.sequence) - len(payload)
                if left > 0:
                    self.missing[(packet.sequence + len(payload)) % 2**32] = left
                return {found.decode() for found in ID.findall(payload)}, len(payload)
            if ahead < 0:
                payload = payload[-ahead:]
            elif ahead > 0 and payload:
                self.missing[self.expected] = ahead
                self.tail = b""
        if not payload:
            return set(), 0
        self.expected = (packet.sequence + len(packet.payload)) % 2**32
        searched = self.tail + payload
        self.tail = searched[-(ID_LENGTH - 1) :]
        return {found.decode() for found in ID.findall(searched)}, len(payload)


def connections(path, server_ports, multiplexed=(), marked=()):
    """The connections of a capture file that go to one of the ports, with their exchanges.

    At the `marked` ports each request begins with an id, so data without one continues the
    previous request, even if its response has begun.

    Fails if packets are missing, as ids would be missing too.
    """
    open_ones = {}
    done = []
    both = []
    greetings = {}
    shared = {}
    for packet in packets(path):
        to_server = int(packet.dst.rpartition(":")[2]) in server_ports
        if not to_server and int(packet.src.rpartition(":")[2]) not in server_ports:
            continue
        key = (packet.src, packet.dst) if to_server else (packet.dst, packet.src)
        if packet.opens or key not in open_ones:
            state = (Connection(*key), {True: Direction(), False: Direction()}, [False])
            open_ones[key] = state
            done.append(state[0])
            both += state[1].values()
        connection, directions, answering = open_ones[key]
        if packet.datagram:
            # Each request is a separate exchange; its response adds no information.
            if to_server:
                request_ids = {found.decode() for found in ID.findall(packet.payload)}
                exchange = Exchange(packet.time, packet.time, len(packet.payload), request_ids)
                exchange.connection = connection
                connection.exchanges.append(exchange)
            continue
        found, size = directions[to_server].take(packet)
        if not size:
            continue
        port = int(connection.server.rpartition(":")[2])
        many = port in multiplexed
        if many and to_server:
            side = shared.setdefault(id(connection), (connection, requests_on_wire.SentBytes()))
            side[1].take(packet)
        # The greeting of a server that sends first comes before the first exchange. It is no exchange,
        # unless nothing else is ever sent on the connection.
        if to_server:
            begins = answering[0] and (found or port not in marked)
            if begins or not connection.exchanges or (many and found):
                exchange = Exchange(packet.time, connection=connection)
                connection.exchanges.append(exchange)
                answering[0] = False
            connection.exchanges[-1].request_ids |= found
            connection.exchanges[-1].sent = packet.time
            connection.exchanges[-1].size += size
        elif not connection.exchanges:
            greeting = greetings.setdefault(id(connection), Exchange(packet.time))
            greeting.request_ids |= found
            greeting.sent = packet.time
            greeting.size += size
        else:
            if not many:
                connection.exchanges[-1].response_ids |= found
                answering[0] = True
    for connection in done:
        if not connection.exchanges and id(connection) in greetings:
            greeting = greetings[id(connection)]
            greeting.connection = connection
            connection.exchanges.append(greeting)
            connection.turned = True
    for connection, side in shared.values():
        if (requests := requests_on_wire.requests(side)) is not None:
            connection.exchanges = [exchange_of(request, connection) for request in requests]
    if gaps := sum(len(direction.missing) for direction in both):
        raise ValueError(f"{path}: {gaps} gaps between the packets of connections")
    return done


def exchange_of(request, connection):
    """A request that was separated from others on its connection."""
    request_ids = {found.decode() for found in ID.findall(request.text)}
    exchange = Exchange(request.start, request.sent, request.size, request_ids)
    exchange.connection, exchange.stream = connection, request.stream
    return exchange
