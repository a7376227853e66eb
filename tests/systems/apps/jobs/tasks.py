"""The worker's processing of a job: it reads an order, writes a payment, and notes it in the cache.

The id is the job's id and argument, so it is in the producer's message, in the broker's delivery,
and in the stored result.
"""
import os
import time

import psycopg2
import redis
from celery import Celery

queue = Celery("shop", broker=os.environ["BROKER"], backend=os.environ.get("RESULTS"))
queue.conf.update(
    broker_connection_retry_on_startup=True,
    worker_prefetch_multiplier=1,
    task_acks_late=True,
    task_ignore_result=not os.environ.get("RESULTS"),
)
cache = redis.Redis(host="127.0.0.1", port=int(os.environ["CACHE_PORT"]))
database = None


def connection():
    """The connection of this process, made by its first job: processes must not share one."""
    global database
    if database is None:
        database = psycopg2.connect(os.environ["DATABASE"])
        database.autocommit = True
    return database


@queue.task
def settle(name):
    with connection().cursor() as cursor:
        cursor.execute(f"SELECT price FROM orders WHERE number = 7 /* {name} */")
        price, = cursor.fetchone()
        time.sleep(0.002)
        cursor.execute("INSERT INTO payments (name, price) VALUES (%s, %s)", (name, price))
    cache.set(f"paid:{name}", price, ex=600)
    return f"paid {name}"
