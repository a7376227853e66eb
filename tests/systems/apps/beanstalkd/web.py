"""The producer of jobs: a cache access, then a job that beanstalkd confirms."""
import os
import threading

import greenstalk
import redis
from flask import Flask

app = Flask(__name__)
cache = redis.Redis(host="127.0.0.1", port=int(os.environ["REDIS"]))
local = threading.local()


@app.get("/order/<name>")
def order(name):
    cache.get(f"cart:{name}")
    if not hasattr(local, "broker"):
        local.broker = greenstalk.Client(("127.0.0.1", int(os.environ["BROKER"])))
    local.broker.put(name)
    return {"accepted": name}, 202
