"""The consumer: threads that each take one order at a time, or one job."""
import os
import threading

import psycopg2
import redis

server = redis.Redis(host="127.0.0.1", port=int(os.environ["REDIS"]))


def work():
    """Takes orders and jobs, and replies to the orders."""
    database = psycopg2.connect(
        host="127.0.0.1", port=os.environ["DATABASE"], user="postgres", dbname="postgres"
    )
    database.autocommit = True
    while True:
        kind, name = (part.decode() for part in server.brpop(["orders", "jobs"]))
        with database.cursor() as cursor:
            cursor.execute(f"SELECT price FROM orders WHERE number = 7 /* {name} */")
            price, = cursor.fetchone()
            cursor.execute("INSERT INTO payments (name, price) VALUES (%s, %s)", (name, price))
        server.set(f"paid:{name}", price, ex=600)
        if kind == "orders":
            server.lpush(f"reply:{name}", price)
        print(f"wrote {name}\n", end="", flush=True)


for _ in range(4):
    threading.Thread(target=work).start()
