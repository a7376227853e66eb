# Conversations in many protocols, played between two processes: whole, joined late, and with
# unreadable turns. In each, the sides alternate, so that the truth is known: each message of the
# server responds to the client's previous one, and a greeting to the connection setup. Writes a
# line for each connection to `truth`: its name, the client's port, and the sizes of the requests
# and responses of its calls.
import json, os, socket

from protocol_turns import PROTOCOLS

# Unreadable messages, each in the place of one turn.
ODD = {
    "binary": bytes((7 * n * n + 131) % 251 for n in range(61)),
    "text": b"frob the thing 17 times\r\n",
    "long": b"frobnicate\r\n" * 40,
}


def variants():
    for name, make in PROTOCOLS.items():
        whole = make()
        for begin in range(min(len(whole) - 2, 9)):
            yield f"{name} from {begin}", whole[begin:]
        for place in range(len(whole)):
            for odd, text in ODD.items():
                side, _ = whole[place]
                yield f"{name} with {odd} at {place}", whole[:place] + [(side, text)] + whole[
                    place + 1 :
                ]


def calls(talk):
    asked, found = 0, []
    for side, text in talk:
        if side == "c":
            asked = len(text)
        else:
            found.append([asked, len(text)])
    return found


def read(end, count):
    while count:
        got = len(end.recv(count))
        assert got
        count -= got


def play(end, own, talk):
    for side, text in talk:
        if side == own:
            end.sendall(text)
        else:
            read(end, len(text))


all = list(variants())
listener = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    for _, talk in all:
        end, _ = listener.accept()
        play(end, "s", talk)
        end.close()
    os._exit(0)
with open("truth", "w") as truth:
    for name, talk in all:
        end = socket.create_connection(listener.getsockname())
        print(json.dumps([name, end.getsockname()[1], calls(talk)]), file=truth)
        play(end, "c", talk)
        end.close()
assert os.wait()[1] == 0
