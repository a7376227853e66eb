"""Orders in aiohttp: a fan-out to a service, Postgres and Redis, with pools that are too small for
all requests at once; then the result.
"""
import asyncio
import os

import aiohttp
import asyncpg
import redis.asyncio
from aiohttp import web

routes = web.RouteTableDef()
app = web.Application()


async def pools(app):
    """The pools of connections."""
    port = int(os.environ["DATABASE"])
    app["database"] = await asyncpg.create_pool(
        host="127.0.0.1", port=port, user="postgres", database="postgres", min_size=1, max_size=4
    )
    app["cache"] = redis.asyncio.BlockingConnectionPool(
        host="127.0.0.1", port=int(os.environ["REDIS"]), max_connections=6
    )
    app["services"] = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=12))
    yield
    await app["services"].close()


async def ask(name):
    async with app["services"].get(f"http://127.0.0.1:{os.environ['STOCK']}/{name}") as response:
        return await response.json()


async def store(name):
    """A task that is not awaited before the answer depends on it."""
    async with app["database"].acquire() as connection:
        await connection.execute("INSERT INTO payments (name, price) VALUES ($1, 1)", name)


@routes.get("/order/{name}")
async def order(request):
    name = request.match_info["name"]
    cache = redis.asyncio.Redis(connection_pool=app["cache"])
    storing = asyncio.create_task(store(name))
    stock, known = await asyncio.gather(ask(name), cache.get(f"order:{name}"))
    await storing
    again = await ask(name)
    async with cache.pipeline() as pipeline:
        await pipeline.set(f"order:{name}", 1, ex=600).incr(f"asked:{name}").execute()
    return web.json_response({"stock": stock, "known": known, "again": again})


app.add_routes(routes)
app.cleanup_ctx.append(pools)
web.run_app(app, host="127.0.0.1", port=int(os.environ["ENTRY"]), print=None, access_log=None)
