"""Tomcat with a page in Java that calls Postgres, through a pool of connections, and another
service.
"""

import shutil
import urllib.request
from pathlib import Path

import harness
import shared_servers

FILES = harness.HERE / "apps" / "tomcat"
TABLES = """
CREATE TABLE orders (number int PRIMARY KEY, price int);
INSERT INTO orders VALUES (7, 70);
CREATE TABLE visits (name text, price int);
"""


class Tomcat(harness.System):
    """Tomcat 10 from Debian, with its settings and its page in a folder of the run."""

    name = "tomcat"
    packages = ("tomcat10", "postgresql", "libpostgresql-jdbc-java")
    requests = 300

    def start(self, run):
        shared_servers.postgres(run, statements=TABLES)
        run.record("stock", [run.python(), FILES.parent / "answer.py", run.port("stock")])
        run.wait_port("stock")

        base = run.directory("tomcat")
        for folder in ("conf", "lib", "logs", "temp", "work", "webapps/ROOT/WEB-INF"):
            (base / folder).mkdir(parents=True)
        for name in ("web.xml", "catalina.properties"):
            shutil.copy(Path("/etc/tomcat10") / name, base / "conf" / name)
        shutil.copy("/usr/share/java/postgresql.jar", base / "lib" / "postgresql.jar")
        places = {"server.xml": "tomcat/conf", "order.jsp": "tomcat/webapps/ROOT"}
        for name, folder in places.items():
            text = (FILES / name).read_text()
            for port in ("entry", "database", "stock"):
                text = text.replace(f"@{port.upper()}@", str(run.port(port)))
            run.write(f"{folder}/{name}", text)
        # Instead of the machine's JAVA_OPTS: a limit of the heap, and fast random numbers at the
        # start.
        options = "-Xmx256m -Djava.security.egd=file:/dev/urandom"
        env = {"CATALINA_BASE": base, "CATALINA_HOME": "/usr/share/tomcat10", "JAVA_OPTS": options}
        run.record("tomcat", ["/usr/share/tomcat10/bin/catalina.sh", "run"], env=env)
        run.wait_port("entry", 60)
        # Tomcat compiles a page at its first request.
        for _ in range(20):
            address = f"http://127.0.0.1:{run.port('entry')}/order.jsp?id=first"
            with urllib.request.urlopen(address, timeout=60) as answer:
                if b"costs 70" not in answer.read():
                    raise RuntimeError(f"tomcat's page does not work: {run.last_lines('tomcat')}")

    def load(self, run, requests, concurrency):
        run.http_load(requests, concurrency, ["/order.jsp?id={id}"])
