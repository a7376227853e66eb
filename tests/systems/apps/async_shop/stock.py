"""Stocks, from Redis."""
import asyncio
import os

import redis.asyncio
from aiohttp import web

cache = redis.asyncio.Redis(host="127.0.0.1", port=int(os.environ["REDIS"]))


async def stock(request):
    name = request.match_info["name"]
    await cache.incr(f"asked:{name}")
    await asyncio.sleep(0.001)
    left = await cache.get(f"stock:{name}")
    return web.json_response({"stock": name, "left": left})


application = web.Application()
application.add_routes([web.get("/stock/{name}", stock)])
web.run_app(application, host="127.0.0.1", port=int(os.environ["STOCK"]), print=None)
