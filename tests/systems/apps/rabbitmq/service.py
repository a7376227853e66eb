"""The called service: up to eight calls at once, each with Postgres and Redis."""
import asyncio
import os

import aio_pika
import asyncpg
import redis.asyncio


async def main():
    cache = redis.asyncio.Redis(host="127.0.0.1", port=int(os.environ["REDIS"]))
    pool = await asyncpg.create_pool(
        host="127.0.0.1", port=int(os.environ["DATABASE"]), user="postgres", database="postgres",
        min_size=2, max_size=4,
    )
    address = f"amqp://guest:guest@127.0.0.1:{os.environ['BROKER']}/"
    connection = await aio_pika.connect(address)
    channel = await connection.channel()
    await channel.set_qos(prefetch_count=8)

    async def called(message):
        name = message.correlation_id
        price = await pool.fetchval(f"SELECT price FROM orders WHERE number = 7 /* {name} */")
        await cache.set(f"price:{name}", price, ex=600)
        reply = aio_pika.Message(str(price).encode(), correlation_id=name)
        await channel.default_exchange.publish(reply, routing_key=message.reply_to)
        await message.ack()

    orders = await channel.declare_queue("orders")
    await orders.consume(called)
    print("ready", flush=True)
    await asyncio.Future()


asyncio.run(main())
