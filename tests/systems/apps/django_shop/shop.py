"""A shop in one file of Django: pages through its ORM from Postgres, its cache in Redis.

Every query and key contains the name in the address, as an SQL parameter that psycopg2 writes into
the statement, or as a part of the key.
"""
import os

import django
from django.conf import settings
from django.core.wsgi import get_wsgi_application

settings.configure(
    ALLOWED_HOSTS=["*"],
    SECRET_KEY="for a test on this machine only",
    ROOT_URLCONF=__name__,
    DATABASES={"default": {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": "127.0.0.1",
        "PORT": os.environ["DATABASE_PORT"],
        "NAME": "postgres",
        "USER": "postgres",
        "CONN_MAX_AGE": 60,
    }},
    CACHES={"default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": f"redis://127.0.0.1:{os.environ['REDIS_PORT']}",
    }},
    USE_TZ=True,
)
django.setup()

from django.core.cache import cache  # noqa: E402
from django.db import connection, models  # noqa: E402
from django.http import JsonResponse  # noqa: E402
from django.urls import path  # noqa: E402


class Order(models.Model):
    name = models.CharField(max_length=40)
    price = models.IntegerField()

    class Meta:
        app_label = "shop"
        db_table = "shop_order"


def page(_, name):
    """Four queries and two cache requests, in sequence."""
    if (seen := cache.get(f"seen:{name}")) is not None:
        return JsonResponse({"seen": seen})
    before = Order.objects.filter(name=name).count()
    order = Order.objects.create(name=name, price=7)
    last = Order.objects.filter(name=name).order_by("-id").first()
    Order.objects.filter(name=name).update(price=8)
    cache.set(f"seen:{name}", order.price, 600)
    return JsonResponse({"before": before, "number": last.pk})


def make_tables():
    with connection.schema_editor() as editor:
        editor.create_model(Order)


urlpatterns = [path("page/<str:name>", page)]
application = get_wsgi_application()
