"""The front in Python: an HTTP request becomes two gRPC calls, over the process's channel."""
import os

import grpc
from flask import Flask

import shop_pb2
import shop_pb2_grpc

app = Flask(__name__)
stub = None


def stock():
    """The channel is made by the process that uses it: gRPC does not survive a fork."""
    global stub
    if stub is None:
        stub = shop_pb2_grpc.StockStub(grpc.insecure_channel(os.environ["BACK"]))
    return stub


@app.get("/item/<name>")
def item(name):
    seen = stock().Look(shop_pb2.Item(name=name))
    kept = stock().Reserve(shop_pb2.Item(name=name))
    return {"name": kept.name, "seen": seen.left, "left": kept.left}
