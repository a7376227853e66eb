"""Orders in Flask with gevent: a fan-out of greenlets to a service, Postgres and Redis."""
import os

import flask
import gevent
import gevent.queue
import pg8000.dbapi
import redis
import requests

app = flask.Flask(__name__)
cache = redis.Redis(host="127.0.0.1", port=int(os.environ["REDIS"]))
services = requests.Session()
services.mount("http://", requests.adapters.HTTPAdapter(pool_maxsize=64))
database = gevent.queue.Queue()
for _ in range(6):
    database.put(None)


def ask(name):
    return services.get(f"http://127.0.0.1:{os.environ['STOCK']}/{name}").json()


def store(name):
    """A pool of connections, which are opened when they are needed."""
    connection = database.get() or pg8000.dbapi.connect(
        host="127.0.0.1", port=int(os.environ["DATABASE"]), user="postgres", database="postgres"
    )
    cursor = connection.cursor()
    cursor.execute("INSERT INTO payments (name, price) VALUES (%s, 1)", (name,))
    connection.commit()
    database.put(connection)


@app.get("/order/<name>")
def order(name):
    parts = [
        gevent.spawn(ask, name),
        gevent.spawn(cache.get, f"order:{name}"),
        gevent.spawn(store, name),
    ]
    stock, known, _ = (part.get() for part in gevent.joinall(parts))
    cache.set(f"order:{name}", 1, ex=600)
    return {"stock": stock, "known": str(known)}
