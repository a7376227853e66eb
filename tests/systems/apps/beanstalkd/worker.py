"""The worker: threads that each reserve one job at a time, read the order, write a payment, and
note it in the cache.
"""
import os
import threading

import greenstalk
import psycopg2
import redis

cache = redis.Redis(host="127.0.0.1", port=int(os.environ["REDIS"]))


def work():
    """Does jobs, with connections of its own."""
    broker = greenstalk.Client(("127.0.0.1", int(os.environ["BROKER"])))
    database = psycopg2.connect(
        host="127.0.0.1", port=os.environ["DATABASE"], user="postgres", dbname="postgres"
    )
    database.autocommit = True
    while True:
        job = broker.reserve()
        name = job.body
        with database.cursor() as cursor:
            cursor.execute(f"SELECT price FROM orders WHERE number = 7 /* {name} */")
            price, = cursor.fetchone()
            cursor.execute("INSERT INTO payments (name, price) VALUES (%s, %s)", (name, price))
        cache.set(f"paid:{name}", price, ex=600)
        broker.delete(job)
        print(f"wrote {name}\n", end="", flush=True)


for _ in range(4):
    threading.Thread(target=work).start()
