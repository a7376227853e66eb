"""Orders: a call of the service by RabbitMQ, whose reply has the request's id."""
import asyncio
import os

import aio_pika
from aiohttp import web

waiting = {}
kept = {}


async def replied(message):
    waiting.pop(message.correlation_id).set_result(message.body.decode())


async def connect(_):
    """The connection of this process, with a queue of its own for replies."""
    address = f"amqp://guest:guest@127.0.0.1:{os.environ['BROKER']}/"
    kept["connection"] = await aio_pika.connect(address)
    kept["channel"] = await kept["connection"].channel()
    await kept["channel"].declare_queue("orders")
    kept["replies"] = await kept["channel"].declare_queue(exclusive=True)
    await kept["replies"].consume(replied, no_ack=True)


async def order(request):
    name = request.match_info["name"]
    waiting[name] = reply = asyncio.get_running_loop().create_future()
    message = aio_pika.Message(b"price", correlation_id=name, reply_to=kept["replies"].name)
    await kept["channel"].default_exchange.publish(message, routing_key="orders")
    return web.json_response({"order": name, "price": await reply})


application = web.Application()
application.on_startup.append(connect)
application.add_routes([web.get("/order/{name}", order)])
web.run_app(application, host="127.0.0.1", port=int(os.environ["ENTRY"]), print=None)
