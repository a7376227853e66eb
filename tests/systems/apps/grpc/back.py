"""The back in Python: a gRPC server with a pool of threads that keeps its stock in Redis."""
import os
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
import redis

import shop_pb2
import shop_pb2_grpc

store = redis.Redis(host="127.0.0.1", port=int(os.environ["REDIS_PORT"]))


def note(name):
    """Logs the request, in a run that compares names with the log."""
    if os.environ.get("ACCESS_LOG"):
        print(f"access shop.Stock/{name} OK", flush=True)


class Stock(shop_pb2_grpc.StockServicer):
    def Look(self, item, _):
        left = store.get(f"stock:{item.name}")
        note("Look")
        return shop_pb2.Count(name=item.name, left=int(left or 0))

    def Reserve(self, item, _):
        store.setnx(f"stock:{item.name}", 100)
        time.sleep(0.001)
        left = store.decr(f"stock:{item.name}")
        note("Reserve")
        return shop_pb2.Count(name=item.name, left=left)


server = grpc.server(ThreadPoolExecutor(max_workers=8))
shop_pb2_grpc.add_StockServicer_to_server(Stock(), server)
if not server.add_insecure_port(os.environ["LISTEN"]):
    raise SystemExit("the port is taken")
server.start()
server.wait_for_termination()
