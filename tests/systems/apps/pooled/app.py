"""Orders from Postgres: a separate query, then a transaction of two. Each thread has a connection.
"""
import os
import threading

import psycopg2
from flask import Flask

app = Flask(__name__)
own = threading.local()


def connection():
    """The connection of this thread."""
    if not hasattr(own, "connection"):
        own.connection = psycopg2.connect(
            host="127.0.0.1", port=os.environ["POOL_PORT"], user="postgres", dbname="postgres"
        )
    return own.connection


@app.get("/order/<name>")
def order(name):
    with connection() as transaction, transaction.cursor() as cursor:
        cursor.execute(f"SELECT price FROM orders WHERE number = 7 /* {name} */")
        price, = cursor.fetchone()
    with connection() as transaction, transaction.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM payments WHERE name = '{name}'")
        cursor.fetchone()
        cursor.execute("INSERT INTO payments (name, price) VALUES (%s, %s)", (name, price))
    return {"order": name, "price": price}
