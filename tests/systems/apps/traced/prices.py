"""Prices, from Postgres."""
import database
from flask import Flask

app = Flask(__name__)


@app.get("/price/<name>")
def price(name):
    return {"price": database.run(f"SELECT price FROM orders WHERE number = 7 /* {name} */")}
