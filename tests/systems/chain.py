"""A chain of five services, in Node and in Python's asyncio, each of which calls the next one."""

import harness
import shared_servers

SERVICES = ("entry", "second", "third", "fourth", "last")
# Milliseconds of work of a service before and after it calls the next, on average.
WORK = 2


class Chain(harness.System):
    """All requests are processed concurrently, so that later requests overtake earlier ones."""

    name = "chain"
    packages = ()
    pip = ("aiohttp",)
    requests = 400
    places = 64

    def start(self, run):
        for place, name in enumerate(SERVICES):
            env = {"PORT": run.port(name), "WORK": WORK, "PLACES": self.places}
            if name != SERVICES[-1]:
                env["NEXT"] = run.port(SERVICES[place + 1])
            if place % 2 == 0 and name != SERVICES[-1]:
                shared_servers.node(run, name, "chain/hop.js", env)
            else:
                folder = shared_servers.copied(run, "chain")
                run.record(name, [run.python(), folder / "hop.py"], env=env)
        for name in SERVICES:
            run.wait_port(name)

    def load(self, run, requests, concurrency):
        run.http_load(requests, concurrency, ["/{id}"])


class ChainInTurn(Chain):
    """Each service processes one request at a time, and the others queue."""

    name = "chain-in-turn"
    places = 1
