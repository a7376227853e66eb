"""The publisher: a cache access, then an event that the broker acknowledges."""
import os
import threading

import paho.mqtt.client as mqtt
import redis
from flask import Flask

app = Flask(__name__)
cache = redis.Redis(host="127.0.0.1", port=int(os.environ["REDIS"]))
lock = threading.Lock()
kept = []


def broker():
    """The connection of this process, with a thread of its own."""
    with lock:
        if not kept:
            client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
            client.connect("127.0.0.1", int(os.environ["BROKER"]))
            client.loop_start()
            kept.append(client)
    return kept[0]


@app.get("/order/<name>")
def order(name):
    cache.get(f"order:{name}")
    event = broker().publish("orders", name, qos=1)
    event.wait_for_publish(10)
    return {"accepted": name}
