"""Tests of the truth that is read from packets, and of the score, on a capture made here."""

import json
import struct
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import score  # noqa: E402
import wire  # noqa: E402

SERVER, BACK = 80, 81
PORTS = {"entry": SERVER, "back": BACK}


class Capture:
    """A file of packets in tcpdump's format."""

    def __init__(self, path):
        self.file = open(path, "wb")
        self.file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, 1))
        self.sequences = {}

    def ask(self, time, src, dst, payload):
        """A datagram."""
        head = struct.pack(">BBHHHBBH", 0x45, 0, 28 + len(payload), 0, 0, 64, 17, 0)
        udp = struct.pack(">HHHH", src, dst, 8 + len(payload), 0)
        frame = bytes(12) + b"\x08\x00" + head + bytes([127, 0, 0, 1]) * 2 + udp + payload
        record = (time // 10**9, time % 10**9, len(frame), len(frame))
        self.file.write(struct.pack("<IIII", *record) + frame)

    def send(self, time, src, dst, payload, skip=0, again=False):
        """A segment; `skip` leaves out bytes before it, `again` sends it a second time."""
        sequence = self.sequences.get((src, dst), 1000) + skip
        for _ in range(1 + again):
            address = bytes([127, 0, 0, 1])
            tcp = struct.pack(">HHIIBBHHH", src, dst, sequence, 0, 0x50, 0x18, 100, 0, 0)
            length = 20 + len(tcp) + len(payload)
            head = struct.pack(">BBHHHBBH", 0x45, 0, length, 0, 0, 64, 6, 0) + address * 2
            frame = bytes(12) + b"\x08\x00" + head + tcp + payload
            record = (time // 10**9, time % 10**9, len(frame), len(frame))
            self.file.write(struct.pack("<IIII", *record) + frame)
        self.sequences[src, dst] = sequence + len(payload)


def named(number):
    """The id of a number."""
    return f"skid{number:07d}x"


class Folder(unittest.TestCase):
    """A folder with a capture, and the notes of a run."""

    def setUp(self):
        kept = tempfile.TemporaryDirectory()
        self.addCleanup(kept.cleanup)
        self.folder = Path(kept.name)
        self.capture = Capture(self.folder / "lo.pcap")
        self.addCleanup(self.capture.file.close)

    def seen(self, **uses):
        """The connections of the capture."""
        self.capture.file.flush()
        return wire.connections(self.folder / "lo.pcap", set(PORTS.values()), **uses)

    def truth(self, per_request=(), **uses):
        """The truth of the capture."""
        self.capture.file.flush()
        about = {"system": "made", "concurrency": 1, "requests": 2, "seconds": 1.0, "ports": PORTS}
        about |= {"entry": ["entry"], "per_request": list(per_request), "multiplexed": []}
        about |= uses
        (self.folder / "run.json").write_text(json.dumps(about))
        return score.Truth(self.folder)


class Wire(Folder):
    """Reading packets."""

    def test_an_id_that_two_packets_share_is_found(self):
        self.capture.send(10, 5000, SERVER, b"GET /skid00")
        self.capture.send(20, 5000, SERVER, b"00001x HTTP/1.1\r\n\r\n")
        (connection,) = self.seen()
        self.assertEqual([one.ids() for one in connection.exchanges], [{named(1)}])
        self.assertEqual((connection.exchanges[0].start, connection.exchanges[0].sent), (10, 20))

    def test_requests_on_one_connection_are_distinguished(self):
        for number in (1, 2):
            self.capture.send(number * 100, 5000, SERVER, named(number).encode(), again=True)
            self.capture.send(number * 100 + 10, SERVER, 5000, b"done")
        (connection,) = self.seen()
        self.assertEqual([one.ids() for one in connection.exchanges], [{named(1)}, {named(2)}])

    def test_a_missing_packet_is_an_error(self):
        self.capture.send(10, 5000, SERVER, b"one")
        self.capture.send(20, 5000, SERVER, b"three", skip=3)
        with self.assertRaisesRegex(ValueError, "1 gap"):
            self.seen()

    def test_packets_in_another_order_are_read(self):
        self.capture.send(10, 5000, SERVER, b"one")
        self.capture.send(20, 5000, SERVER, b"three", skip=len(named(1)))
        self.capture.send(30, 5000, SERVER, named(1).encode(), skip=-5 - len(named(1)))
        (connection,) = self.seen()
        self.assertEqual([one.ids() for one in connection.exchanges], [{named(1)}])
        self.assertEqual(connection.exchanges[0].size, 8 + len(named(1)))

    def test_each_datagram_is_an_exchange(self):
        for number in (1, 2):
            self.capture.ask(number, 5000, SERVER, named(number).encode())
        (connection,) = self.seen()
        self.assertEqual([one.ids() for one in connection.exchanges], [{named(1)}, {named(2)}])
        self.assertEqual([one.size for one in connection.exchanges], [len(named(1))] * 2)

    def test_a_greeting_is_an_exchange_only_if_nothing_else_is_sent(self):
        self.capture.send(10, SERVER, 5000, b"220 ready")
        self.capture.send(20, 5000, SERVER, b"HELO " + named(1).encode())
        self.capture.send(30, BACK, 5001, named(2).encode())
        greeted, turned = self.seen()
        self.assertEqual([one.start for one in greeted.exchanges], [20])
        self.assertFalse(greeted.turned)
        self.assertEqual([one.ids() for one in turned.exchanges], [{named(2)}])
        self.assertTrue(turned.turned)

    def test_packets_that_carry_several_requests_are_exchanges_each(self):
        self.capture.send(10, 5000, SERVER, named(1).encode())
        self.capture.send(20, 5000, SERVER, named(2).encode())
        (connection,) = self.seen(multiplexed={SERVER})
        self.assertEqual([one.request_ids for one in connection.exchanges], [{named(1)}, {named(2)}])

    def test_data_without_an_id_continues_the_request_at_marked_ports(self):
        self.capture.send(10, 5000, SERVER, named(1).encode())
        self.capture.send(20, SERVER, 5000, b"begins")
        self.capture.send(30, 5000, SERVER, b"more")
        self.capture.send(40, SERVER, 5000, b"ends")
        self.capture.send(50, 5000, SERVER, named(2).encode())
        (connection,) = self.seen(marked={SERVER})
        self.assertEqual([one.request_ids for one in connection.exchanges], [{named(1)}, {named(2)}])
        self.assertEqual(len(self.seen()[0].exchanges), 3)


class Turned(Folder):
    """A connection on which only the listener sends."""

    def test_sent_data_is_a_message_or_responds_to_the_connection(self):
        self.capture.send(2_000, BACK, 6000, named(1).encode())
        ends = (f"127.0.0.1:{BACK}", "127.0.0.1:6000")
        for times, flow in (((1_000, 2_000), ends[::-1]), ((2_000, 0), ends)):
            call = {"call_id": "1", "src_endpoint": flow[0], "dst_endpoint": flow[1]}
            call |= {"request_send": str(times[0]), "request_bytes": "0"}
            matched, _ = self.truth({"back"}).match([call])
            self.assertEqual(len(matched), 1, flow)
            self.assertEqual(len(list(self.truth({"back"}).known())), 1)


class Deliveries(Folder):
    """A broker that responds to clients which ask for work."""

    def test_a_request_for_work_at_a_broker_belongs_to_no_request(self):
        self.capture.send(10, 6000, BACK, b"pop")
        self.capture.send(20, BACK, 6000, named(1).encode())
        known = [found for _, found, _, _ in self.truth().known()]
        self.assertEqual(known, [named(1)])
        self.assertEqual(list(self.truth(deliveries=["back"]).known()), [])


class Score(Folder):
    """The score of sockcap's calls."""

    def two_requests(self):
        """The packets of two requests with a call each; the calls as sockcap should find them."""
        calls = []
        for number in (1, 2):
            for offset, client, server in ((0, 5000, SERVER), (10, 6000, BACK)):
                time = number * 1_000_000 + offset * 1_000
                self.capture.send(time + 2_000, client, server, named(number).encode())
                self.capture.send(time + 4_000, server, client, b"done")
                parent = "" if server == SERVER else f"{number}-{SERVER}"
                calls.append(call(f"{number}-{server}", parent, client, server, time))
        return calls

    def scored(self, calls):
        return score.score_calls(self.truth(), calls, patterns=[])

    def test_right_calls_are_right(self):
        figures = self.scored(self.two_requests())
        self.assertEqual((figures["calls_known"], figures["calls_right"]), (2, 2))
        self.assertEqual((figures["requests"], figures["requests_right"]), (2, 2))
        self.assertEqual((figures["sure"], figures["sure_right"]), (2, 2))

    def test_a_call_of_another_request_spoils_both(self):
        calls = self.two_requests()
        calls[3]["parent_call_id"] = calls[0]["call_id"]
        figures = self.scored(calls)
        self.assertEqual((figures["calls_right"], figures["requests_right"]), (1, 0))
        self.assertEqual((figures["sure"], figures["sure_right"]), (2, 1))

    def test_a_call_that_was_not_found_is_missing(self):
        figures = self.scored(self.two_requests()[:3])
        self.assertEqual((figures["calls_had"], figures["calls_right"]), (1, 1))
        self.assertEqual(figures["requests_right"], 1)

    def test_a_call_of_an_unrecorded_caller_is_found_by_its_receipt(self):
        calls = self.two_requests()
        for one in calls[1::2]:
            # The packet arrives 2 us after the call was made.
            received = int(one["request_send"]) + 3_000
            one |= {"request_send": "", "request_recv": str(received)}
        figures = self.scored(calls)
        self.assertEqual((figures["calls_had"], figures["calls_right"]), (2, 2))

    def test_a_call_of_two_requests_is_of_neither(self):
        calls = self.two_requests()[:3]
        calls[1]["request_bytes"] = str(2 * len(named(1)))
        figures = self.scored(calls)
        self.assertEqual((figures["calls_had"], figures["calls_mixed"]), (0, 1))
        self.assertEqual(figures["requests_right"], 0)

    def test_a_request_that_is_made_for_another_is_wrong(self):
        calls = self.two_requests()
        calls[2]["parent_call_id"] = calls[0]["call_id"]
        self.assertEqual(self.scored(calls)["requests_right"], 0)


def call(number, parent, client, server, time):
    """A row of sockcap's table of calls."""
    ends = {"src_endpoint": f"127.0.0.1:{client}", "dst_endpoint": f"127.0.0.1:{server}"}
    about = {"call_id": number, "parent_call_id": parent, "probability": "1.0"}
    sent = {"request_send": str(time), "request_bytes": str(len(named(1)))}
    return about | ends | sent | {"caller": "a", "callee": "b"}


def frame(kind, stream, payload, flags=0):
    """A frame of HTTP/2."""
    head = len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big")
    return head + payload


class Shared(Folder):
    """Connections that carry several concurrent requests."""

    def test_each_stream_of_http2_is_a_request_whatever_its_packets(self):
        ask = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, b"")
        ask += frame(1, 1, b"head") + frame(1, 3, b"head") + frame(8, 1, bytes(4))
        ask += frame(0, 3, named(3).encode()) + frame(0, 1, named(1).encode())
        self.capture.send(10, 5000, BACK, ask[:40])
        self.capture.send(20, 5000, BACK, ask[40:])
        (connection,) = self.seen(multiplexed={BACK})
        found = [(one.stream, one.ids(), one.start) for one in connection.exchanges]
        self.assertEqual(found, [(1, {named(1)}, 10), (3, {named(3)}, 20)])
        self.assertEqual([one.size for one in connection.exchanges], [9 + 4 + 9 + 12] * 2)

    def test_each_command_of_redis_is_a_request(self):
        command = lambda number: b"*2\r\n$3\r\nGET\r\n$12\r\n" + named(number).encode() + b"\r\n"
        self.capture.send(10, 5000, BACK, command(1) + command(2)[:9])
        self.capture.send(20, BACK, 5000, b"$1\r\n0\r\n")
        self.capture.send(30, 5000, BACK, command(2)[9:] + command(3))
        (connection,) = self.seen(multiplexed={BACK})
        found = [(one.start, one.ids()) for one in connection.exchanges]
        self.assertEqual(found, [(10, {named(1)}), (10, {named(2)}), (30, {named(3)})])

    def test_calls_are_found_by_stream_or_by_order_in_a_packet(self):
        ask = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
        ask += b"".join(frame(1, stream, named(stream).encode()) for stream in (1, 3, 5))
        self.capture.send(10_000, 5000, BACK, ask)
        truth = self.truth(multiplexed=["back"])
        ends = {"src_endpoint": "127.0.0.1:5000", "dst_endpoint": "127.0.0.1:81"}
        call = lambda number: {**ends, "call_id": number, "request_send": "9500", "request_bytes": "1"}
        for numbers in (["7/5", "7/1", "7/3"], ["#0", "#1", "#2"]):
            matched, mixed = truth.match(list(map(call, numbers)))
            found = [truth.id_of[id(matched[number])] for number in numbers]
            expected = [5, 1, 3] if "/" in numbers[0] else [1, 3, 5]
            self.assertEqual((found, mixed), (list(map(named, expected)), 0))
        self.assertEqual(truth.match([call("#0")]), ({}, 1))

    def test_calls_are_found_by_the_position_of_their_bytes(self):
        command = lambda number: b"*2\r\n$3\r\nGET\r\n$12\r\n" + named(number).encode() + b"\r\n"
        self.capture.send(40_000, 5000, BACK, command(1) + command(2)[:9])
        self.capture.send(50_000, 5000, BACK, command(2)[9:] + command(3))
        truth = self.truth(multiplexed=["back"])
        ends = {"src_endpoint": "127.0.0.1:5000", "dst_endpoint": "127.0.0.1:81"}
        size = str(len(command(1)))
        # One before the first captured packet, and then three, each by itself.
        calls = [
            {**ends, "call_id": f"#{at}", "request_send": str(at), "request_bytes": size}
            for at in (100, 30_000, 31_000, 60_000)
        ]
        matched, mixed = truth.match(calls)
        found = {number: truth.id_of[id(one)] for number, one in matched.items()}
        self.assertEqual(found, {"#30000": named(1), "#31000": named(2), "#60000": named(3)})
        self.assertEqual(mixed, 0)
        # One of another size: the match is unknown, so only times can be used.
        calls[2]["request_bytes"] = "1"
        self.assertNotEqual(truth.match(calls)[0].keys(), matched.keys())


if __name__ == "__main__":
    unittest.main()
