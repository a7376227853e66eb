"""The shop: an order requests a price, then the stock, then takes it.

A cart requests the stock first, then the price.
"""
import os

import requests
from flask import Flask
from requests.adapters import HTTPAdapter

app = Flask(__name__)
session = requests.Session()
session.mount("http://", HTTPAdapter(pool_connections=4, pool_maxsize=64))


def fetch(service, route, name):
    """The response of a service."""
    answer = session.get(f"http://127.0.0.1:{os.environ[service]}/{route}/{name}", timeout=30)
    answer.raise_for_status()
    return answer.json()


@app.get("/order/<name>")
def order(name):
    price = fetch("PRICES", "price", name)
    stock = fetch("STOCK", "stock", name)
    taken = fetch("STOCK", "reserve", name)
    return {**price, **stock, **taken}


@app.get("/cart/<name>")
def cart(name):
    return {**fetch("STOCK", "stock", name), **fetch("PRICES", "price", name)}
