"""The subscriber: reads the order, writes a payment, and notes it in the cache."""
import os

import paho.mqtt.client as mqtt
import psycopg2
import redis

cache = redis.Redis(host="127.0.0.1", port=int(os.environ["REDIS"]))
database = psycopg2.connect(
    host="127.0.0.1", port=os.environ["DATABASE"], user="postgres", dbname="postgres"
)
database.autocommit = True


def subscribed(*_):
    print("ready")


def arrived(client, _, message):
    name = message.payload.decode()
    with database.cursor() as cursor:
        cursor.execute(f"SELECT price FROM orders WHERE number = 7 /* {name} */")
        price, = cursor.fetchone()
        cursor.execute("INSERT INTO payments (name, price) VALUES (%s, %s)", (name, price))
    cache.set(f"paid:{name}", price, ex=600)
    print(f"wrote {name}")


client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2)
client.on_subscribe = subscribed
client.on_message = arrived
client.on_connect = lambda *_: client.subscribe("orders", qos=1)
client.connect("127.0.0.1", int(os.environ["BROKER"]))
client.loop_forever()
