#!/usr/bin/env python3
"""A small GitHub for tests: issues, comments, pull requests and statuses of one repository, kept in memory.

  github.py [--port N] [--repository OWNER/NAME] [--user-token FILE]   prints its base URL, then serves until it is killed

Tokens say who asks: "bot" is a workflow's own (GET /user is refused, as on GitHub), "user" is the account ada, "read" is
a workflow's without write rights, "app" an own app's, the content of --user-token's file ada too; anything else is 401. GET /_/state gives everything it holds and
every request it got; PUT /_/state sets issues, comments and pulls; POST /_/rule adds a misbehaviour:
  {"method": "POST", "path": "regular expression", "times": 1, "status": 502, "headers": {}, "body": {},
   "carry_out": false, "drop": false, "rival": {"login": .., "body": ..}}
Every request must fit GitHub's own description (github_openapi.json, cut down by github_openapi.mjs): another path, an
unknown key or parameter, a wrong type is answered 422 and kept in the state's "violations".
carry_out: the request is carried out all the same. drop: the connection is closed instead of an answer. rival: before
the request, somebody else posts this comment (and nothing else is changed, where there is no status). {"clear": true}
takes all of them back."""
import argparse
import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import jsonschema

LOGINS = {"bot": "github-actions[bot]", "user": "ada", "read": "github-actions[bot]", "app": "bench-app[bot]"}


class Refused(Exception):
    def __init__(self, status, message, headers=None, errors=None):
        super().__init__(message)
        self.status, self.headers = status, headers or {}
        self.body = {"message": message, "documentation_url": "https://docs.github.com/rest"}
        if errors:
            self.body["errors"] = errors


class Description:
    """GitHub's OpenAPI description, as far as nightgate needs it."""

    def __init__(self, file):
        self.root = self.plain(json.loads(file.read_text(encoding="utf-8")))
        self.resolver = jsonschema.RefResolver("", self.root)
        self.operations = [(re.compile(re.sub(r"\{[^}]+\}", "[^/]+", path)), method.upper(), operation)
                           for path, methods in self.root["paths"].items() for method, operation in methods.items()]

    def plain(self, value):
        """JSON Schema of what OpenAPI 3.0 calls schema: `nullable` becomes a type."""
        if isinstance(value, list):
            return [self.plain(item) for item in value]
        if not isinstance(value, dict):
            return value
        out = {key: self.plain(inner) for key, inner in value.items()}
        if out.pop("nullable", False) is True:
            if isinstance(out.get("type"), str):
                out["type"] = [out["type"], "null"]
            if "enum" in out:
                out["enum"] = out["enum"] + [None]
        return out

    def resolved(self, value):
        return self.resolver.resolve(value["$ref"])[1] if "$ref" in value else value

    def fault(self, method, path, query, body):
        """Why this request is none that GitHub describes, or None."""
        for pattern, known_method, operation in self.operations:
            if known_method == method and pattern.fullmatch(path):
                return self.fault_of(operation, query, body)
        return f"{method} {path} is not described"

    def fault_of(self, operation, query, body):
        known = {p["name"]: p for p in map(self.resolved, operation.get("parameters", [])) if p["in"] == "query"}
        for name, value in query.items():
            if name not in known:
                return f"unknown parameter {name}"
            schema = self.resolved(known[name]["schema"])
            if schema.get("type") == "integer" and not value.isdigit():
                return f"{name} is no number"
            if value not in schema.get("enum", [value]):
                return f"{name} may not be {value}"
        if "requestBody" not in operation:
            return "a body where none belongs" if body else None
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        unknown = set(body) - set(self.resolved(schema).get("properties", body))
        if unknown:
            return f"unknown keys {sorted(unknown)}"
        try:
            jsonschema.Draft4Validator(schema, resolver=self.resolver).validate(body)
        except jsonschema.ValidationError as error:
            return f"{list(error.path)}: {error.message[:300]}"
        return None


class GitHub:
    """What it holds. One lock; every request is carried out whole."""

    def __init__(self, repository):
        self.repository = repository
        self.lock = threading.Lock()
        self.issues, self.comments, self.pulls, self.statuses = {}, {}, [], []
        self.next_id, self.requests, self.rules, self.violations = 1, [], [], []
        self.description = Description(Path(__file__).with_name("github_openapi.json"))

    def state(self):
        return {"issues": list(self.issues.values()), "comments": list(self.comments.values()), "pulls": self.pulls,
                "statuses": self.statuses, "requests": self.requests, "violations": self.violations}

    def load(self, body):
        for issue in body.get("issues", []):
            self.issues[issue["number"]] = {"user": {"login": "ada"}, "state": "open", "state_reason": None, "title": "",
                                            "body": "", **issue}
        for comment in body.get("comments", []):
            self.add_comment(comment["issue"], comment["login"], comment["body"])
        self.pulls += body.get("pulls", [])

    def add_comment(self, issue, login, body):
        comment = {"id": self.next_id + 1000, "issue": issue, "user": {"login": login, "type": "Bot"}, "body": body}
        self.next_id += 1
        self.comments[comment["id"]] = comment
        return comment

    def has_issue(self, number):
        return number in self.issues or any(p["number"] == number for p in self.pulls)

    # ---- the routes: (method, pattern, action, is a write) ----
    def routes(self):
        base = r"/repos/[^/]+/[^/]+"
        return [
            ("GET", r"/user", self.get_user, False),
            ("GET", base + r"/issues", self.list_issues, False),
            ("POST", base + r"/issues", self.post_issue, True),
            ("GET", base + r"/issues/(\d+)", self.get_issue, False),
            ("PATCH", base + r"/issues/(\d+)", self.patch_issue, True),
            ("GET", base + r"/issues/(\d+)/comments", self.list_comments, False),
            ("POST", base + r"/issues/(\d+)/comments", self.post_comment, True),
            ("PATCH", base + r"/issues/comments/(\d+)", self.patch_comment, True),
            ("DELETE", base + r"/issues/comments/(\d+)", self.delete_comment, True),
            ("GET", base + r"/commits/([0-9a-f]+)/pulls", self.list_pulls, False),
            ("POST", base + r"/statuses/([0-9a-f]+)", self.post_status, True),
        ]

    def get_user(self, ask):
        if ask.token != "user":
            raise Refused(403, "Resource not accessible by integration")
        return 200, {"login": LOGINS[ask.token]}

    def list_issues(self, ask):
        state, creator = ask.query.get("state", "open"), ask.query.get("creator")
        found = [i for i in self.issues.values() if state in ("all", i["state"]) and creator in (None, i["user"]["login"])]
        return 200, ask.page(sorted(found, key=lambda i: -i["number"]))

    def post_issue(self, ask):
        if not isinstance(ask.body.get("title"), str) or not ask.body["title"]:
            raise Refused(422, "Validation Failed", errors=[{"field": "title", "code": "missing_field"}])
        check_length(ask.body.get("body", ""))
        number = 1 + max([p["number"] for p in self.pulls] + list(self.issues), default=0)
        self.issues[number] = {"number": number, "state": "open", "state_reason": None, "title": ask.body["title"],
                               "body": ask.body.get("body", ""), "user": {"login": ask.login}}
        return 201, self.issues[number]

    def get_issue(self, ask, number):
        if int(number) not in self.issues:
            raise Refused(404, "Not Found")
        return 200, self.issues[int(number)]

    def patch_issue(self, ask, number):
        issue = self.get_issue(ask, number)[1]
        check_length(ask.body.get("body", ""))
        if ask.body.get("state", "open") not in ("open", "closed"):
            raise Refused(422, "Validation Failed")
        issue.update({k: v for k, v in ask.body.items() if k in ("title", "body", "state", "state_reason")})
        if ask.body.get("state") == "open":
            issue["state_reason"] = "reopened"
        return 200, issue

    def list_comments(self, ask, number):
        if not self.has_issue(int(number)):
            raise Refused(404, "Not Found")
        return 200, ask.page([c for c in self.comments.values() if c["issue"] == int(number)])

    def post_comment(self, ask, number):
        if not self.has_issue(int(number)):
            raise Refused(404, "Not Found")
        if not isinstance(ask.body.get("body"), str):
            raise Refused(422, "Validation Failed")
        check_length(ask.body["body"])
        return 201, self.add_comment(int(number), ask.login, ask.body["body"])

    def own_comment(self, ask, identity):
        comment = self.comments.get(int(identity))
        if comment is None:
            raise Refused(404, "Not Found")
        if comment["user"]["login"] != ask.login:
            raise Refused(403, "Resource not accessible by integration")
        return comment

    def patch_comment(self, ask, identity):
        check_length(ask.body.get("body", ""))
        comment = self.own_comment(ask, identity)
        comment["body"] = ask.body["body"]
        comment["edits"] = comment.get("edits", 0) + 1
        return 200, comment

    def delete_comment(self, ask, identity):
        del self.comments[self.own_comment(ask, identity)["id"]]
        return 204, None

    def list_pulls(self, ask, commit):
        return 200, ask.page([p for p in self.pulls if commit in (p.get("merge_commit_sha"), p["head"]["sha"])])

    def post_status(self, ask, commit):
        if ask.body.get("state") not in ("success", "failure", "error", "pending"):
            raise Refused(422, "Validation Failed")
        if len(ask.body.get("description", "")) > 140:
            raise Refused(422, "Validation Failed", errors=["description is too long (maximum is 140 characters)"])
        self.statuses.append({"sha": commit, **ask.body})
        return 201, self.statuses[-1]


def check_length(body):
    if body and len(body) > 65536:
        raise Refused(422, "Validation Failed", errors=["body is too long (maximum is 65536 characters)"])


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    github = None
    user_token = "user"

    def log_message(self, *_):
        pass

    def answer(self, status, body, headers=None):
        data = b"" if body is None else json.dumps(body).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Type", "application/json; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def page(self, items):
        size, number = int(self.query.get("per_page", 30)), int(self.query.get("page", 1))
        if (number - 1) * size + size < len(items):
            rest = "&".join(f"{k}={v}" for k, v in self.query.items() if k != "page")
            url = f"http://{self.headers['Host']}{self.route}?{rest}&page={number + 1}"
            self.links = {"Link": f'<{url}>; rel="next", <{url}>; rel="last"'}
        return items[(number - 1) * size:number * size]

    def serve(self):
        split = urlsplit(self.path)
        self.route, self.links = split.path, {}
        self.query = {k: v[0] for k, v in parse_qs(split.query).items()}
        raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with self.github.lock:
            if self.route.startswith("/_/"):
                return self.control(json.loads(raw or "{}"))
            self.github.requests.append({"method": self.command, "path": self.path, "body": raw.decode(),
                                         "headers": {k.lower(): v for k, v in self.headers.items()}})
            rule = self.rule()
            if rule and rule.get("rival"):
                number = int(re.search(r"/issues/(\d+)", self.route).group(1))
                self.github.add_comment(number, rule["rival"]["login"], rule["rival"]["body"])
            if rule and (rule.get("status") or rule.get("drop")):
                if rule.get("carry_out"):
                    self.carry_out(raw)
                if rule.get("drop"):
                    self.close_connection = True
                    self.connection.shutdown(2)
                    return None
                return self.answer(rule["status"], rule.get("body", {"message": "as told"}), rule.get("headers"))
            status, body, headers = self.carry_out(raw)
        return self.answer(status, body, headers)

    def control(self, body):
        if self.route == "/_/rule":
            if body.get("clear"):
                self.github.rules.clear()
            else:
                self.github.rules.append({"times": 1, **body})
        elif self.command == "PUT":
            self.github.load(body)
        return self.answer(200, self.github.state())

    def rule(self):
        for rule in self.github.rules:
            if rule["times"] > 0 and rule.get("method", self.command) == self.command and re.search(rule["path"], self.path):
                rule["times"] -= 1
                return rule
        return None

    def carry_out(self, raw):
        try:
            self.token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
            self.token = "user" if self.token == self.user_token else self.token
            self.login = LOGINS.get(self.token)
            if self.login is None:
                raise Refused(401, "Bad credentials")
            if not self.headers.get("User-Agent"):
                raise Refused(403, "Request forbidden by administrative rules. Please make sure your request has a User-Agent")
            owner, _, _ = self.github.repository.partition("/")
            if self.route.startswith(f"/repos/{owner}/old/"):
                there = self.path.replace(f"/repos/{owner}/old/", f"/repos/{self.github.repository}/", 1)
                raise Refused(301, "Moved Permanently", {"Location": f"http://{self.headers['Host']}{there}"})
            if self.route.startswith("/repos/") and not self.route.startswith(f"/repos/{self.github.repository}/"):
                raise Refused(404, "Not Found")
            self.body = json.loads(raw) if raw else {}
            fault = self.github.description.fault(self.command, self.route, self.query, self.body)
            if fault:
                self.github.violations.append(fault)
                raise Refused(422, "Validation Failed", errors=[fault])
            for method, pattern, action, write in self.github.routes():
                match = re.fullmatch(pattern, self.route)
                if match and method == self.command:
                    if write and self.token == "read":
                        raise Refused(403, "Resource not accessible by integration")
                    status, body = action(self, *match.groups())
                    return status, body, self.links
            raise Refused(404, "Not Found")
        except Refused as refused:
            return refused.status, refused.body, refused.headers

    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = serve


def main():
    parser = argparse.ArgumentParser(description="a small GitHub for tests")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--repository", default="o/r")
    parser.add_argument("--user-token", type=Path)
    options = parser.parse_args()
    if options.user_token:
        Handler.user_token = options.user_token.read_text()
    Handler.github = GitHub(options.repository)
    server = ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    server.daemon_threads = True
    print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
