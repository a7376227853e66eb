"""Orders: a fan-out to two services, Postgres and Redis; then a thread; then the result."""
import asyncio
import contextlib
import os

import asyncpg
import httpx
import redis
import redis.asyncio
from fastapi import FastAPI

port = int(os.environ["REDIS"])
cache = redis.asyncio.Redis(host="127.0.0.1", port=port)
blocking_cache = redis.Redis(host="127.0.0.1", port=port)


@contextlib.asynccontextmanager
async def lifespan(app):
    """The pools of connections."""
    app.state.pool = await asyncpg.create_pool(
        host="127.0.0.1", port=int(os.environ["DATABASE"]), user="postgres", database="postgres",
        min_size=2, max_size=8,
    )
    app.state.services = httpx.AsyncClient(limits=httpx.Limits(max_connections=64))
    yield


app = FastAPI(lifespan=lifespan)


async def ask(service, name):
    response = await app.state.services.get(f"http://127.0.0.1:{os.environ[service]}/{name}")
    return response.json()


@app.get("/order/{name}")
async def order(name: str):
    price, stock, paid, known = await asyncio.gather(
        ask("PRICE", name),
        ask("STOCK", name),
        app.state.pool.fetchval("SELECT price FROM orders WHERE number = 7 AND $1 <> ''", name),
        cache.get(f"order:{name}"),
    )
    # A driver without support for event loops.
    await asyncio.to_thread(blocking_cache.incr, f"asked:{name}")
    async with app.state.pool.acquire() as connection, connection.transaction():
        await connection.execute("INSERT INTO payments (name, price) VALUES ($1, $2)", name, paid)
    await cache.set(f"order:{name}", paid, ex=600)
    return {"order": name, "price": price, "stock": stock, "known": known}
