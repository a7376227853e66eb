"""Orders in Django's async views: a fan-out to a service, Postgres and Redis; then the result.

Served by uvicorn as two processes, the gateway and the service that it calls.
"""
import asyncio
import os

import django
import httpx
import psycopg_pool
import redis.asyncio
from django.conf import settings
from django.core.asgi import get_asgi_application

settings.configure(
    ALLOWED_HOSTS=["*"],
    SECRET_KEY="for a test on this machine only",
    ROOT_URLCONF=__name__,
    USE_TZ=True,
)
django.setup()

from django.http import JsonResponse  # noqa: E402
from django.urls import path  # noqa: E402

cache = redis.asyncio.Redis(host="127.0.0.1", port=int(os.environ["REDIS"]))
services = httpx.AsyncClient(limits=httpx.Limits(max_connections=64), trust_env=False)
database = psycopg_pool.AsyncConnectionPool(
    f"host=127.0.0.1 port={os.environ['DATABASE']} user=postgres dbname=postgres",
    min_size=2, max_size=8, open=False, kwargs={"autocommit": True},
)


async def ask(name):
    response = await services.get(f"http://127.0.0.1:{os.environ['STOCK']}/stock/{name}")
    return response.json()["left"]


async def price_of(name):
    async with database.connection() as connection:
        query = "SELECT price FROM orders WHERE number = 7 AND %s <> ''"
        return (await (await connection.execute(query, (name,))).fetchone())[0]


async def order(_, name):
    """Three calls at once, then two in turn."""
    await database.open()
    price, left, known = await asyncio.gather(
        price_of(name), ask(name), cache.get(f"order:{name}")
    )
    async with database.connection() as connection:
        insert = "INSERT INTO payments (name, price) VALUES (%s, %s)"
        await connection.execute(insert, (name, price))
    await cache.set(f"order:{name}", price, ex=600)
    return JsonResponse({"price": price, "left": left, "known": bool(known)})


async def stock(_, name):
    """Asks Redis, waits, and asks it again."""
    await cache.incr(f"stock-asked:{name}")
    await asyncio.sleep(0.001)
    left = await cache.get(f"stock:{name}")
    return JsonResponse({"left": left and int(left)})


urlpatterns = [path("order/<str:name>", order), path("stock/<str:name>", stock)]
application = get_asgi_application()
