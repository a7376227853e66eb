"""WordPress on PHP with MariaDB and memcached: behind nginx with php-fpm, and within Apache."""

import os
import secrets
import shutil
import subprocess
from pathlib import Path

import harness
import mariadb
import server_logs

SOURCE = Path("/usr/share/wordpress")
THEME = "twentytwentythree"
FILES = harness.HERE / "apps" / "wordpress"


class WordPress(harness.System):
    """The common part of both ways to run PHP: the site, its database and its cache."""

    site_packages = ("wordpress", f"wordpress-theme-{THEME}", "php-cli", "php-mysql")
    site_packages += ("php-memcached", "memcached", *mariadb.PACKAGES)
    # PHP opens a connection for each request, and closes it at the request's end.
    per_request = ("mariadb", "memcached", "fpm")
    requests = 200

    def prepare_site(self, run):
        """Starts database and cache, and installs the site. Returns its folder."""
        password = secrets.token_hex(16)
        mariadb.start(run, "wordpress", password)
        memcached = ["memcached", "-l", "127.0.0.1", "-p", run.port("memcached"), "-U", "0"]
        run.record("memcached", memcached, user="nobody")
        run.wait_port("memcached")
        run.count("memcached.counts", lambda: server_logs.memcached_counts(run.port("memcached")))

        site = run.directory("site")
        # Debian's package has links into folders of other packages; the copy contains files only.
        shutil.copytree(SOURCE, site, dirs_exist_ok=True, ignore_dangling_symlinks=True)
        themes = site / "wp-content" / "themes" / THEME
        if not themes.exists():
            shutil.copytree(Path("/var/lib/wordpress/wp-content/themes") / THEME, themes)
        values = {"PASSWORD": password, "THEME": THEME}
        values |= {name.upper(): run.port(name) for name in ("entry", "mariadb", "memcached")}
        plugins = "wp-content/mu-plugins/"
        places = {"wp-config.php": "", "install.php": "", "request-id.php": plugins}
        for name, folder in places.items():
            text = (FILES / name).read_text()
            for key, value in values.items():
                text = text.replace(f"@{key}@", str(value))
            # The package's entry at this place may be a link to a file of the machine.
            (site / folder / name).unlink(missing_ok=True)
            run.write(f"site/{folder}{name}", text)
        for folder, folders, files in os.walk(site):
            for name in [*folders, *files, "."]:
                shutil.chown(Path(folder) / name, "www-data", "www-data")
        install = ["setpriv", "--reuid=www-data", "--regid=www-data", "--clear-groups"]
        install += ["php", "-d", "sendmail_path=/bin/true", site / "install.php"]
        done = subprocess.run(install, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode != 0 or done.stdout.count("post ") != 20:
            raise RuntimeError(f"WordPress could not be installed: {done.stdout[-500:]}")
        (site / "install.php").unlink()
        return site

    def load(self, run, requests, concurrency):
        paths = ["/?r={id}", "/?p=%d&r={id}", "/?s=river&r={id}", "/?p=%d&r={id}"]
        paths += ["/?feed=rss2&r={id}"]
        paths = [path % (4 + 2 * n) if "%d" in path else path for n, path in enumerate(paths)]
        run.http_load(requests, concurrency, paths)


    def logged_requests(self, log):
        return {
            "mariadb": server_logs.mariadb(log / "mariadb.general"),
            "memcached": server_logs.memcached(log / "memcached.counts"),
        }


class NginxFpm(WordPress):
    """nginx in front of php-fpm, over TCP."""

    name = "php-fpm"
    packages = ("nginx", "php-fpm", *WordPress.site_packages)

    def start(self, run):
        site = self.prepare_site(run)
        fpm = run.write(
            "fpm.conf",
            f"[global]\nerror_log = {run.log}/php-fpm-errors.log\ndaemonize = no\n"
            f"[www]\nlisten = 127.0.0.1:{run.port('fpm')}\nuser = www-data\ngroup = www-data\n"
            "pm = static\npm.max_children = 10\n"
            "php_admin_value[sendmail_path] = /bin/true\n",
        )
        run.record("php-fpm", [self.program("php-fpm"), "--nodaemonize", "--fpm-config", fpm])
        run.wait_port("fpm")
        run.record("nginx", ["nginx", "-e", f"{run.log}/nginx-errors.log", "-c", nginx(run, site)])
        run.wait_port("entry")

    def logged_requests(self, log):
        # WordPress responds to all requests to nginx.
        access = server_logs.access(log / "nginx-access.log")
        return {"entry": access, "fpm": access, **super().logged_requests(log)}

    @staticmethod
    def program(name):
        """Debian has PHP's version in the name of the program."""
        return str(max(Path("/usr/sbin").glob(f"{name}[0-9]*")))


def nginx(run, site):
    """The settings of nginx."""
    home = run.directory("nginx", user="www-data")
    temporary = "".join(
        f"{kind}_temp_path {home}/{kind};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    access = "access_log off;"
    if run.names:
        access = "log_format names 'access $request_method $request_uri $status';\n"
        access += f"access_log {run.log}/nginx-access.log names;"
    return run.write(
        "nginx.conf",
        f"""user www-data;
worker_processes 2;
daemon off;
pid {home}/pid;
events {{ worker_connections 256; }}
http {{
{temporary}
{access}
include /etc/nginx/mime.types;
server {{
    listen 127.0.0.1:{run.port('entry')};
    root {site};
    index index.php;
    location / {{ try_files $uri $uri/ /index.php?$args; }}
    location ~ \\.php$ {{
        include /etc/nginx/fastcgi_params;
        # Debian's parameters omit the port, and WordPress would redirect to the address without it.
        fastcgi_param HTTP_HOST 127.0.0.1:{run.port('entry')};
        fastcgi_param SCRIPT_FILENAME $document_root$fastcgi_script_name;
        fastcgi_pass 127.0.0.1:{run.port('fpm')};
    }}
}}
}}
""",
    )


class ApacheModule(WordPress):
    """Apache with PHP as a module: a process for each connection."""

    name = "php-apache"
    packages = ("apache2", "libapache2-mod-php", *WordPress.site_packages)
    per_request = ("mariadb", "memcached")

    def start(self, run):
        site = self.prepare_site(run)
        modules = Path("/usr/lib/apache2/modules")
        library = max(modules.glob("libphp[0-9]*.so"))
        loaded = "".join(
            f"LoadModule {name}_module {modules}/mod_{name}.so\n"
            for name in ("mpm_prefork", "authz_core", "dir", "mime")
        )
        settings = run.write(
            "apache.conf",
            f"""ServerRoot {run.directory('apache')}
ServerName 127.0.0.1
Listen 127.0.0.1:{run.port('entry')}
PidFile {run.state}/apache/pid
ErrorLog {run.log}/apache-errors.log
{loaded}LoadModule php_module {library}
User www-data
Group www-data
StartServers 10
MinSpareServers 2
MaxSpareServers 20
TypesConfig /etc/mime.types
AddHandler application/x-httpd-php .php
DocumentRoot {site}
DirectoryIndex index.php
<Directory {site}>
    Require all granted
</Directory>
php_admin_value sendmail_path /bin/true
""",
        )
        run.record("apache", ["apache2", "-D", "FOREGROUND", "-f", settings])
        run.wait_port("entry")
