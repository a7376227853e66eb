"""A service that asks Redis, waits, and asks it again."""
import os
import time

import flask
import redis

app = flask.Flask(__name__)
cache = redis.Redis(host="127.0.0.1", port=int(os.environ["REDIS"]))


@app.get("/<name>")
def stock(name):
    cache.incr(f"stock-asked:{name}")
    time.sleep(0.001)
    return {"left": str(cache.get(f"stock:{name}"))}
