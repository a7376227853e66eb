"""A service of large bodies in Python: it receives them, generates them, or sends them back.

Its threads share only the connections to Redis, where it requests a quota before a body and notes
its size after it.
"""
import os

import redis
from flask import Flask, Response, request

app = Flask(__name__)
store = redis.Redis(host="127.0.0.1", port=int(os.environ["REDIS_PORT"]))
PART = 64 * 1024


def parts(stream):
    while part := stream.read(PART):
        yield part


@app.get("/small/<name>")
def small(name):
    return {"name": name, "quota": str(store.get(f"quota:{name}"))}


@app.post("/up/<name>")
def up(name):
    store.get(f"quota:{name}")
    size = sum(len(part) for part in parts(request.stream))
    store.set(f"size:{name}", size, ex=600)
    return {"name": name, "size": size}


@app.get("/down/<name>/<int:size>")
def down(name, size):
    store.get(f"quota:{name}")

    def body():
        part = b"." * PART
        for start in range(0, size, PART):
            yield part[:size - start]
        store.set(f"size:{name}", size, ex=600)

    return Response(body(), headers={"Content-Length": str(size), "X-Name": name})


@app.post("/turn/<name>")
def turn(name):
    """The body is sent back when all of it has arrived."""
    store.get(f"quota:{name}")
    body = request.get_data(cache=False)
    store.set(f"size:{name}", len(body), ex=600)
    return Response(body, headers={"X-Name": name})


@app.post("/echo/<name>")
def echo(name):
    """The body is sent back while it still arrives."""
    store.get(f"quota:{name}")
    length = request.headers["Content-Length"]
    return Response(parts(request.stream), headers={"Content-Length": length, "X-Name": name})
