"""A worker, one job at a time: it reads the order, writes a payment, and notes it in the cache."""
import os

import pika
import psycopg2
import redis

cache = redis.Redis(host="127.0.0.1", port=int(os.environ["REDIS"]))
database = psycopg2.connect(
    host="127.0.0.1", port=os.environ["DATABASE"], user="postgres", dbname="postgres"
)
database.autocommit = True


def arrived(channel, method, _, body):
    name = body.decode()
    with database.cursor() as cursor:
        cursor.execute(f"SELECT price FROM orders WHERE number = 7 /* {name} */")
        price, = cursor.fetchone()
        cursor.execute("INSERT INTO payments (name, price) VALUES (%s, %s)", (name, price))
    cache.set(f"paid:{name}", price, ex=600)
    channel.basic_ack(method.delivery_tag)
    print(f"wrote {name}", flush=True)


address = pika.ConnectionParameters("127.0.0.1", int(os.environ["BROKER"]))
channel = pika.BlockingConnection(address).channel()
channel.queue_declare("jobs")
channel.basic_qos(prefetch_count=1)
channel.basic_consume("jobs", arrived)
print("ready", flush=True)
channel.start_consuming()
