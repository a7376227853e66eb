"""Stocks, from Postgres: a request counts payments, and taking one adds to them."""
import database
from flask import Flask

app = Flask(__name__)


@app.get("/stock/<name>")
def stock(name):
    return {"stock": database.run(f"SELECT count(*) FROM payments WHERE name = '{name}'")}


@app.get("/reserve/<name>")
def reserve(name):
    database.run(f"INSERT INTO payments (name, price) VALUES ('{name}', 70)")
    return {"taken": True}
