"""Orders in Starlette on trio: calls to a service and to Redis, at once and in turn.

Served by hypercorn as two processes, the gateway and the service that it calls.
"""
import contextlib
import os

import httpx
import trio
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

CONNECTIONS = 8


class Cache:
    """A few connections to Redis, which tasks take in turn: a minimal client of trio."""

    async def open(self):
        self.put, self.take = trio.open_memory_channel(CONNECTIONS)
        for _ in range(CONNECTIONS):
            self.put.send_nowait(await trio.open_tcp_stream("127.0.0.1", int(os.environ["REDIS"])))

    async def ask(self, *words):
        """Sends a command and returns the response, which is a single line or a short string."""
        connection = await self.take.receive()
        try:
            parts = "".join(f"${len(word)}\r\n{word}\r\n" for word in words)
            await connection.send_all(f"*{len(words)}\r\n{parts}".encode())
            answer = await connection.receive_some()
            while not answer.endswith(b"\r\n"):
                answer += await connection.receive_some()
            return answer.decode().strip()
        finally:
            self.put.send_nowait(connection)


cache = Cache()


@contextlib.asynccontextmanager
async def lifespan(app):
    """The connections."""
    await cache.open()
    async with httpx.AsyncClient(trust_env=False) as app.state.services:
        yield


async def order(request):
    """Two calls at once, then two in turn."""
    name = request.path_params["name"]
    found = {}

    async def stock():
        address = f"http://127.0.0.1:{os.environ['STOCK']}/stock/{name}"
        found["stock"] = (await request.app.state.services.get(address)).json()

    async def known():
        found["known"] = await cache.ask("GET", f"order:{name}")

    async with trio.open_nursery() as nursery:
        nursery.start_soon(stock)
        nursery.start_soon(known)
    await cache.ask("SET", f"order:{name}", "1", "EX", "600")
    found["asked"] = await cache.ask("INCR", f"asked:{name}")
    return JSONResponse(found)


async def stock(request):
    """Asks Redis, waits, and asks it again."""
    name = request.path_params["name"]
    await cache.ask("INCR", f"stock-asked:{name}")
    await trio.sleep(0.001)
    return JSONResponse({"left": await cache.ask("EXISTS", f"stock:{name}")})


routes = [Route("/order/{name}", order), Route("/stock/{name}", stock)]
app = Starlette(routes=routes, lifespan=lifespan)
