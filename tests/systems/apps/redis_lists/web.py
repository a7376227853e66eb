"""The producer: leaves an order in a list of Redis, and waits for its reply, or does not."""
import os

import redis
from flask import Flask

app = Flask(__name__)
server = redis.Redis(host="127.0.0.1", port=int(os.environ["REDIS"]))


@app.get("/order/<name>")
def order(name):
    """Waits for the reply, in a list of its own."""
    server.lpush("orders", name)
    _, price = server.brpop(f"reply:{name}", 30)
    return {"order": name, "price": price.decode()}


@app.get("/job/<name>")
def job(name):
    """Responds as soon as the job is in the list."""
    server.lpush("jobs", name)
    return {"accepted": name}, 202
