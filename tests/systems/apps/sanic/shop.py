"""Orders in Sanic: a service and Postgres at once, then the result; and the service.

usage: shop.py PORT
"""
import asyncio
import os
import sys

import aiohttp
import asyncpg
from sanic import Sanic
from sanic.response import json

app = Sanic("shop")


@app.before_server_start
async def pools(app):
    """The pools of connections."""
    app.ctx.database = await asyncpg.create_pool(
        host="127.0.0.1", port=int(os.environ["DATABASE"]), user="postgres", database="postgres",
        min_size=2, max_size=8,
    )
    app.ctx.services = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=32))


@app.after_server_stop
async def close(app):
    await app.ctx.services.close()


@app.get("/order/<name>")
async def order(request, name):
    """Two calls at once, then two in turn."""
    async def ask(path):
        address = f"http://127.0.0.1:{os.environ['STOCK']}/{path}/{name}"
        async with app.ctx.services.get(address) as response:
            return await response.json()

    price = "SELECT price FROM orders WHERE number = 7 AND $1 <> ''"
    stock, paid = await asyncio.gather(ask("stock"), app.ctx.database.fetchval(price, name))
    insert = "INSERT INTO payments (name, price) VALUES ($1, $2)"
    await app.ctx.database.execute(insert, name, paid)
    return json({"stock": stock, "sent": await ask("send")})


@app.get("/stock/<name>")
async def stock(request, name):
    """Asks Postgres, waits, and asks it again."""
    query = "SELECT count(*) FROM payments WHERE name = $1"
    first = await app.ctx.database.fetchval(query, name)
    await asyncio.sleep(0.001)
    return json([first, await app.ctx.database.fetchval(query, name)])


@app.get("/send/<name>")
async def send(request, name):
    await asyncio.sleep(0.002)
    return json(name)


if __name__ == "__main__":
    app.run("127.0.0.1", int(sys.argv[1]), single_process=True, access_log=False, motd=False)
