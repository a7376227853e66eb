"""A shop as a web application (WSGI) in front of PostgreSQL: `/K/NUMBER`, with K the type of the
transaction.

SHOP_ACCOUNTS is a folder in which each process notes its requests and their times.

Types of Table 6 of the Magpie paper: k, a book: a query, and a file; g, categories: three queries;
l, log on: no query. Of Table 7: n, new order; p, payment; o, order status; d, delivery; s, stock
level; v, version.
"""

import hashlib
import os
import time

import psycopg2

IMAGE = os.environ["SHOP_IMAGE"]
ACCOUNTS = os.environ["SHOP_ACCOUNTS"]
connection = accounts = None


def ask(statement, *values):
    """The first row of the result, through the persistent connection of this process."""
    global connection
    if connection is None:
        connection = psycopg2.connect(os.environ["SHOP_DATABASE"])
        connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return cursor.fetchall()


def book(number):
    row = ask("SELECT title, author, price FROM item WHERE id = %s", 1 + number * 7919 % 20000)
    with open(IMAGE, "rb") as image:
        return f"{row}\n".encode() + image.read()


def categories(number):
    names = ask("SELECT category, count(*) FROM item WHERE id < 2000 GROUP BY category ORDER BY category")
    books = ask("SELECT id, title FROM item WHERE category = %s ORDER BY id LIMIT 20", number % 24)
    picks = ask("SELECT title, author FROM item WHERE id = ANY(%s)", [1 + (number * 31 + n) % 20000 for n in range(5)])
    return f"{names}\n{books}\n{picks}\n".encode()


def log_on(number):
    return hashlib.pbkdf2_hmac("sha256", b"password", str(number).encode(), 4000).hex().encode()


def called(function, *places):
    """A page that calls a function of the database."""
    def page(number):
        return str(ask(f"SELECT {function}", *(place(number) for place in places))).encode()

    return page


def customer(number):
    return 1 + number * 7919 % 30000


def district(number):
    return number * 31 % 100


PAGES = {
    "k": book,
    "g": categories,
    "l": log_on,
    "n": called("new_order(%s, %s, %s)", district, customer, lambda number: number),
    "p": called("payment(%s, %s, %s)", district, customer, lambda number: 1 + number % 50),
    "o": called("order_status(%s)", customer),
    "d": called("delivery(%s)", district),
    "s": called("stock_level(%s)", lambda number: 15 + number % 3),
    "v": called("'version 1'"),
}


def application(environ, start_response):
    """A request."""
    global accounts
    begin = time.time_ns()
    if accounts is None:
        accounts = open(os.path.join(ACCOUNTS, f"{os.getpid()}.csv"), "w", buffering=1)
    _, kind, number = environ["PATH_INFO"].split("/")
    content = PAGES[kind](int(number))
    accounts.write(f"{int(number)},{kind},{begin},{time.time_ns()}\n")
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(content)))])
    return [content]
