"""A service that asks Redis, waits, and asks it again; its second handler runs in threads."""
import asyncio
import os
import time

import redis
import redis.asyncio
from fastapi import FastAPI

port = int(os.environ["REDIS"])
cache = redis.asyncio.Redis(host="127.0.0.1", port=port)
blocking_cache = redis.Redis(host="127.0.0.1", port=port)
app = FastAPI()


async def in_loop(name: str):
    await cache.incr(f"stock-asked:{name}")
    await asyncio.sleep(0.001)
    return {"left": await cache.get(f"stock:{name}")}


def in_thread(name: str):
    blocking_cache.incr(f"price-asked:{name}")
    time.sleep(0.001)
    return {"price": blocking_cache.get(f"price:{name}")}


app.get("/{name}")(in_thread if os.environ["HANDLER"] == "thread" else in_loop)
