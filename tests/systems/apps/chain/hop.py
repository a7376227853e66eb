"""A service of a chain in asyncio: it works, calls the next service if there is one, and responds.
"""

import asyncio
import os
import random

from aiohttp import ClientSession, TCPConnector, web

NEXT = os.environ.get("NEXT")


async def work():
    """Simulates work that takes between half the usual time and one and a half times as long."""
    await asyncio.sleep(random.uniform(0.5, 1.5) * float(os.environ["WORK"]) / 1000)


async def answer(request):
    """Works, calls the next service with the same path, works again and responds."""
    async with request.app["places"]:
        await work()
        if NEXT:
            address = f"http://127.0.0.1:{NEXT}{request.path}"
            async with request.app["session"].get(address) as response:
                await response.read()
                if response.status != 200:
                    return web.Response(status=502)
        await work()
        return web.Response(text=request.path)


async def application():
    """The service; a semaphore admits waiting requests in the order of their arrival."""
    app = web.Application()
    app["places"] = asyncio.Semaphore(int(os.environ["PLACES"]))
    app["session"] = ClientSession(connector=TCPConnector(limit=64))
    app.router.add_get("/{name}", answer)
    return app


web.run_app(application(), host="127.0.0.1", port=int(os.environ["PORT"]), print=None, access_log=None)
