"""The producer of jobs: a cache access, then a job that the broker confirms."""
import os
import threading

import pika
import redis
from flask import Flask

app = Flask(__name__)
cache = redis.Redis(host="127.0.0.1", port=int(os.environ["REDIS"]))
local = threading.local()


def channel():
    """The channel of this thread, on a connection of its own."""
    if not hasattr(local, "channel"):
        address = pika.ConnectionParameters("127.0.0.1", int(os.environ["BROKER"]))
        local.channel = pika.BlockingConnection(address).channel()
        local.channel.confirm_delivery()
    return local.channel


@app.get("/order/<name>")
def order(name):
    cache.get(f"cart:{name}")
    channel().basic_publish("", "jobs", name.encode())
    return {"accepted": name}, 202
