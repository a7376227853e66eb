"""The application server: the cache, a name look-up by datagrams, then one of the services.

Connections to the services are kept in a pool that all threads of the process share.
"""
import os
import zlib

import dns.resolver
import redis
import urllib3
from flask import Flask

app = Flask(__name__)
cache = redis.Redis(host="127.0.0.1", port=int(os.environ["REDIS_PORT"]))
pool = urllib3.PoolManager(maxsize=4, block=True)
services = os.environ["SERVICE_PORTS"].split(",")
names = dns.resolver.Resolver(configure=False)
names.nameservers = ["127.0.0.1"]
names.port = int(os.environ["DNS_PORT"])
names.cache = None


@app.get("/cart/<name>")
def cart(name):
    if cache.get(f"cart:{name}"):
        return {"known": name}
    address = names.resolve(f"{name}.prices.shop.test", "A")[0].address
    port = services[zlib.crc32(name.encode()) % len(services)]
    url = f"http://{address}:{port}/price/{name}"
    price = pool.request("GET", url, retries=False, timeout=20).json()
    cache.set(f"cart:{name}", price["price"], ex=600)
    return price
