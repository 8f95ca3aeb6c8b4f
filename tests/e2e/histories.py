"""Histories of programs not written here: nginx's configuration, and PostgreSQL's settings. Each merge changes a file as
people do; one of them makes something slow."""
import os
import random
import subprocess
from pathlib import Path

PEOPLE = ["Ada Lindqvist", "Bruno Tavares", "Chiara Monti", "Deniz Aksoy"]


class Repository:
    """A repository whose merges each write some files; `rows` is what history.json is for the test broker."""

    def __init__(self, directory):
        self.dir = Path(directory)
        self.dir.mkdir(parents=True)
        self.rows = []
        self._git("init", "--quiet", "--initial-branch=main")

    def _git(self, *arguments, who=PEOPLE[0], when=0):
        date = f"{1772442000 + 86400 * when} +0000"
        address = who.split()[0].lower() + "@example.invalid"
        environment = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null", "PATH": os.environ["PATH"],
                       "GIT_AUTHOR_NAME": who, "GIT_AUTHOR_EMAIL": address, "GIT_AUTHOR_DATE": date,
                       "GIT_COMMITTER_NAME": who, "GIT_COMMITTER_EMAIL": address, "GIT_COMMITTER_DATE": date}
        return subprocess.run(["git", "-C", self.dir, *arguments], env=environment, check=True, text=True,
                              stdout=subprocess.PIPE).stdout.strip()

    def merge(self, title, files):
        number = len(self.rows)
        for name, text in files.items():
            path = self.dir / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self._git("add", "--all")
        pr = 200 + number
        self._git("commit", "--quiet", "-m", f"{title} (#{pr})" if number else title, when=number,
                  who=PEOPLE[number % len(PEOPLE)])
        self.rows.append({"n": number, "commit": self._git("rev-parse", "HEAD"), "title": title,
                          "pr": pr if number else None})


# ---- nginx ---------------------------------------------------------------------------------------------------------

NGINX = """# The shop's web server.
worker_processes 1;
daemon off;
pid run/nginx.pid;
error_log run/error.log;
{main}events {{ worker_connections 256; }}
http {{
  types {{ text/html html; text/plain txt; text/css css; application/json json; }}
  access_log run/access.log combined{log};
  keepalive_requests 100000;
  client_body_temp_path run/body; proxy_temp_path run/proxy; fastcgi_temp_path run/fastcgi;
  uwsgi_temp_path run/uwsgi; scgi_temp_path run/scgi;
  gzip on;
  gzip_types {types};
  gzip_comp_level {level};
{http}  server {{
    listen 127.0.0.1:{port};
    root html;
    location = /version {{ default_type application/json; return 200 '{{"commit": "@COMMIT@"}}'; }}
{server}  }}
}}
"""
BUILD = """#!/bin/sh
# build.sh OUT COMMIT: a directory that nginx can be started in.
set -eu
mkdir -p "$1/conf" "$1/run"
sed "s/@COMMIT@/$2/" nginx.conf >"$1/conf/nginx.conf"
cp -r html "$1/html"
nginx -q -t -p "$1" -c conf/nginx.conf -e run/error.log
"""
ORDINARY = [("Do not tell the version", "http", "  server_tokens off;\n"),
            ("Send files by the kernel", "http", "  sendfile on;\n"),
            ("Say that we are the shop", "server", "    add_header X-Shop 1;\n"),
            ("Redirect the old catalogue", "server", "    location = /old { return 301 /catalogue.json; }\n"),
            ("Be patient with slow clients", "http", "  client_header_timeout 30s;\n"),
            ("Answer health checks", "server", "    location = /health { return 204; }\n"),
            ("Full packets", "http", "  tcp_nopush on;\n"),
            ("Refuse large bodies", "http", "  client_max_body_size 64k;\n"),
            ("Keep connections for a minute", "http", "  keepalive_timeout 60s;\n"),
            ("Tell caches", "server", "    add_header Cache-Control max-age=60;\n")]
SLOW = {"gzip": "Compress all we send as well as we can", "log": "Write the access log at once"}


def catalogue():
    """Some 60 KB of JSON, the same every time."""
    chosen = random.Random(7)
    words = ["lamp", "chair", "table", "small", "large", "oak", "steel", "blue", "grey", "round", "set of", "garden"]
    items = [f'{{"id": {n}, "name": "{" ".join(chosen.choices(words, k=5))}", "price": {chosen.randrange(5, 900)}.{chosen.randrange(100):02d}, '
             f'"stock": {chosen.randrange(400)}}}' for n in range(700)]
    return "[" + ",\n".join(items) + "]\n"


def nginx(directory, merges, culprit, port, kind="gzip"):
    """The rows; merge `culprit` is slow in the way that `kind` says (a key of SLOW)."""
    repository = Repository(directory)
    state = {"main": "user root;\n" if os.geteuid() == 0 else "", "http": "", "server": "", "port": port, "level": 1, "types": "application/json", "log": " buffer=64k flush=10s"}
    repository.merge("The shop's web server", {"nginx.conf": NGINX.format(**state), "build.sh": BUILD,
                                               "html/catalogue.json": catalogue(), "html/index.html": "<h1>Shop</h1>\n"})
    for number in range(1, merges + 1):
        if number == culprit:
            title = SLOW[kind]
            state.update({"level": 9, "types": "*"} if kind == "gzip" else {"log": ""})
        elif number <= len(ORDINARY):
            title, where, line = ORDINARY[number - 1]
            state[where] += line
        else:
            title = f"Redirect offer {number}"
            state["server"] += f"    location = /offer/{number} {{ return 302 /index.html?offer={number}; }}\n"
        repository.merge(title, {"nginx.conf": NGINX.format(**state)})
    return repository.rows


def nginx_config(config, repository, port, load, requests=150):
    """The configuration `config` of the test broker, made one of nginx."""
    config.update({
        "project": "shop", "repository": {"path": str(repository), "branch": "main"},
        "targets": {"build": ["sh", "build.sh", "{out}", "{sha}"]},
        "deployments": {"web": {"broker": {
            "command": ["nginx", "-p", "{target}", "-c", "conf/nginx.conf", "-e", "run/error.log"], "port": port,
            "ready": "/version", "identity": {"get": "/version", "commit": "/commit"}}}},
        "scenarios": {"catalogue": {"load": {"command": [*load, "{broker.url}", "get", "/catalogue.json", str(requests)]},
                                    "repeats": 1, "warmup_seconds": 0, "metrics": {"rate": {"unit": "1/s"}}}}})
    return config


# ---- PostgreSQL ----------------------------------------------------------------------------------------------------

SETTINGS = [("Room for sorting", "work_mem = 8MB"), ("Room for maintenance", "maintenance_work_mem = 64MB"),
            ("We have a solid state disk", "random_page_cost = 1.1"), ("Say how much is cached", "effective_cache_size = 256MB"),
            ("Fewer checkpoints", "checkpoint_timeout = 15min"), ("Longer write-ahead log", "max_wal_size = 512MB"),
            ("Vacuum sooner", "autovacuum_vacuum_scale_factor = 0.05"), ("Better samples", "default_statistics_target = 200"),
            ("Name our sessions", "log_line_prefix = '%m [%p] %a '"), ("Log who waits", "log_lock_waits = on"),
            ("Spread checkpoints", "checkpoint_completion_target = 0.8"), ("Few locks", "max_locks_per_transaction = 80")]
PLANS = ("See the plans of everything that runs", "session_preload_libraries = 'auto_explain'\n"
         "auto_explain.log_min_duration = 0\nauto_explain.log_analyze = on\nauto_explain.log_buffers = on")


def postgres(directory, merges, culprit):
    """Rows of a history of settings.conf."""
    repository = Repository(directory)
    text = "# Settings of our database.\nfsync = off\nshared_buffers = 32MB\nlisten_addresses = ''\nautovacuum = off\n"
    repository.merge("Settings of our database", {"settings.conf": text})
    for number in range(1, merges + 1):
        if number == culprit:
            title, line = PLANS
        elif number <= len(SETTINGS):
            title, line = SETTINGS[number - 1]
        else:
            title, line = f"Allow {50 + number} clients", f"max_connections = {50 + number}"
        text += line + "\n"
        repository.merge(title, {"settings.conf": text})
    return repository.rows


def postgres_programs():
    """The directory of PostgreSQL's programs, or None."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    return found[-1].parent if found else None


def postgres_config(config, repository, cluster, transactions=4000):
    config.update({
        "project": "database", "repository": {"path": str(repository), "branch": "main"},
        "targets": {"build": ["cp", "settings.conf", "{out}/settings.conf"]},
        "scenarios": {"select": {"load": {"command": [str(Path(__file__).resolve().parent / "pgbench_load.py"), str(cluster),
                                                      "{target}/settings.conf", str(transactions)]},
                                 "repeats": 1, "warmup_seconds": 0, "metrics": {"tps": {"unit": "1/s"}}}}})
    config.pop("deployments", None)
    return config

