"""Orders: the cache; then Postgres and the stock service concurrently; then a transaction."""
import asyncio
import contextlib
import os

import asyncpg
import httpx
import redis.asyncio
from fastapi import FastAPI

cache = redis.asyncio.Redis(host="127.0.0.1", port=int(os.environ["REDIS"]))
service = httpx.AsyncClient(base_url=f"http://127.0.0.1:{os.environ['STOCK']}")


@contextlib.asynccontextmanager
async def lifespan(app):
    """The pool of connections to Postgres."""
    app.state.pool = await asyncpg.create_pool(
        host="127.0.0.1", port=int(os.environ["DATABASE"]), user="postgres", database="postgres",
        min_size=2, max_size=4,
    )
    yield


app = FastAPI(lifespan=lifespan)


@app.get("/order/{name}")
async def order(name: str):
    if await cache.get(f"order:{name}"):
        return {"known": name}
    pool = app.state.pool
    price, stock = await asyncio.gather(
        pool.fetchval("SELECT price FROM orders WHERE number = 7 AND $1 <> ''", name),
        service.get(f"/stock/{name}"),
    )
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("INSERT INTO payments (name, price) VALUES ($1, $2)", name, price)
    await cache.set(f"order:{name}", price, ex=600)
    return {"order": name, "price": price, "stock": stock.json()}
