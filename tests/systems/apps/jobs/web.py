"""The front of a job queue: a request reads the cache and leaves a job at the broker."""
import os

import redis
from flask import Flask, request

from tasks import settle

app = Flask(__name__)
cache = redis.Redis(host="127.0.0.1", port=int(os.environ["CACHE_PORT"]))


@app.get("/order/<name>")
def order(name):
    cache.get(f"cart:{name}")
    settle.apply_async(args=[name], task_id=name)
    return {"accepted": name, "via": request.path}, 202


@app.get("/health")
def health():
    cache.ping()
    return "ready"
