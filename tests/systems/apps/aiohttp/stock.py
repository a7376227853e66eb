"""A service that asks Redis, waits, and asks it again."""
import asyncio
import os

import redis.asyncio
from aiohttp import web

cache = redis.asyncio.Redis(host="127.0.0.1", port=int(os.environ["REDIS"]))
routes = web.RouteTableDef()


@routes.get("/{name}")
async def stock(request):
    name = request.match_info["name"]
    await cache.incr(f"stock-asked:{name}")
    await asyncio.sleep(0.001)
    left = await cache.get(f"stock:{name}")
    return web.json_response({"left": left})


app = web.Application()
app.add_routes(routes)
web.run_app(app, host="127.0.0.1", port=int(os.environ["STOCK"]), print=None, access_log=None)
