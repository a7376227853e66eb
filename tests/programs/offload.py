"""Datagrams that are sent several per call (UDP_SEGMENT), each time acknowledged by one small one.

offload.py receive PORT [gro]             prints a word when it is ready
offload.py send ADDRESS PORT control|option
"""

import os
import socket
import struct
import sys

SEGMENT, GRO = 103, 104
TURNS, SIZE = 12, 1200


def size_of(turn):
    return SIZE * (turn % 5 + 1) + 100 + turn


def bound(address, port):
    one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
    one.settimeout(60)
    one.bind((address, port))
    return one


def receive(port, way):
    one = bound("0.0.0.0", port)
    if way == "gro":
        one.setsockopt(socket.IPPROTO_UDP, GRO, 1)
    print("ready", flush=True)
    for turn in range(TURNS):
        left = size_of(turn)
        while left > 0:
            data, _, _, sender = one.recvmsg(65_535, 100)
            left -= len(data)
        one.sendto(b"all of turn %d" % turn, sender)


def send(address, port, way):
    one = bound("0.0.0.0", 0)
    if way == "option":
        one.setsockopt(socket.IPPROTO_UDP, SEGMENT, SIZE)
    control = [(socket.IPPROTO_UDP, SEGMENT, struct.pack("H", SIZE))]
    for turn in range(TURNS):
        data = os.urandom(size_of(turn))
        one.sendmsg([data], control if way == "control" else [], 0, (address, port))
        one.recv(100)


if sys.argv[1] == "receive":
    receive(int(sys.argv[2]), sys.argv[3])
else:
    send(sys.argv[2], int(sys.argv[3]), sys.argv[4])
