"""Statements in Postgres, each on a connection of a pool."""
import os

from psycopg2.pool import ThreadedConnectionPool

pool = ThreadedConnectionPool(
    1, 40, host="127.0.0.1", port=int(os.environ["DATABASE"]), user="postgres", dbname="postgres"
)


def run(statement):
    """Runs a statement; returns the first value of its first row, if it has any."""
    connection = pool.getconn()
    try:
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(statement)
            return cursor.fetchone()[0] if cursor.description else None
    finally:
        pool.putconn(connection)
