"""GitHub's API as far as it is documented and used here: comments, the files of a pull request, and who a token speaks for.

A request that the documentation does not allow is answered with 400 and kept as a fault."""

from __future__ import annotations

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "token-of-the-job"
REPOSITORY = "somebody/results"
BOT = {"login": "github-actions[bot]", "type": "Bot"}


class GitHub:
    """The state of one repository with one pull request, number 7."""

    def __init__(self) -> None:
        self.comments: list[dict[str, Any]] = []
        self.files: list[dict[str, str]] = []
        self.may_write, self.may_ask_login, self.broken_answers = True, True, 0
        self.asked: list[str] = []
        self.faults: list[str] = []
        state = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

            def do_GET(self) -> None:
                state.serve(self, None)

            def do_POST(self) -> None:
                state.serve(self, self.rfile.read(int(self.headers["Content-Length"])))

            do_PATCH = do_POST

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()

    def add_comment(self, user: dict[str, str], body: str) -> dict[str, Any]:
        comment = {"id": 1000 + len(self.comments), "user": user, "body": body}
        self.comments.append(comment)
        return comment

    def serve(self, handler: BaseHTTPRequestHandler, body: bytes | None) -> None:
        self.asked.append(f"{handler.command} {urlsplit(handler.path).path}")
        try:
            self.check_headers(handler)
            status, answer = self.answer(handler, json.loads(body) if body is not None else None)
        except (AssertionError, ValueError, KeyError) as error:
            self.faults.append(f"{handler.command} {handler.path}: {error!r}")
            status, answer = 400, {"message": "Problems parsing JSON"}
        content = json.dumps(answer).encode()
        handler.send_response(status)
        handler.send_header("Content-Type", "application/json; charset=utf-8")
        handler.send_header("Content-Length", str(len(content)))
        if status in (301, 302):
            handler.send_header("Location", f"{self.url}/elsewhere")
        handler.end_headers()
        handler.wfile.write(content)

    def check_headers(self, handler: BaseHTTPRequestHandler) -> None:
        assert handler.headers["Authorization"] == f"Bearer {TOKEN}", "authorization"
        assert handler.headers["X-GitHub-Api-Version"] == "2022-11-28", "version of the API"
        assert handler.headers["Accept"] == "application/vnd.github+json", "accept"
        assert handler.headers["User-Agent"], "GitHub refuses requests without a user agent"

    def answer(self, handler: BaseHTTPRequestHandler, body: Any) -> tuple[int, Any]:
        path, query = urlsplit(handler.path).path, parse_qs(urlsplit(handler.path).query)
        route = f"{handler.command} {path.removeprefix(f'/repos/{REPOSITORY}')}"
        if self.broken_answers > 0:
            self.broken_answers -= 1
            return 502, {"message": "Server Error"}
        if route == "POST /graphql":
            assert set(body) == {"query"}, "query"
            data = {"data": {"viewer": {"login": "github-actions[bot]"}}}
            return (200, data) if self.may_ask_login else (403, {"message": "Forbidden"})
        if route == "GET /pulls/7/files":
            return 200, page(self.files, query)
        if route == "GET /issues/7/comments":
            return 200, page(self.comments, query)
        if route == "POST /issues/7/comments":
            return self.written(201, lambda: self.add_comment(BOT, text_of(body)))
        known = re.fullmatch(r"PATCH /issues/comments/(\d+)", route)
        assert known, "no such address"
        return self.written(200, lambda: self.edit(int(known[1]), text_of(body)))

    def written(self, status: int, change: Any) -> tuple[int, Any]:
        if not self.may_write:
            return 403, {"message": "Resource not accessible by integration"}
        return status, change()

    def edit(self, number: int, text: str) -> dict[str, Any]:
        comment = next(one for one in self.comments if one["id"] == number)
        comment["body"] = text
        return comment


def text_of(body: Any) -> str:
    assert set(body) == {"body"} and isinstance(body["body"], str), "one text"
    assert len(body["body"]) <= 65_536, "body is too long (maximum is 65536 characters)"
    return str(body["body"])


def page(items: list[Any], query: dict[str, list[str]]) -> list[Any]:
    size, number = (int(query.get(name, [default])[0]) for name, default in (("per_page", "30"), ("page", "1")))
    assert 1 <= size <= 100 and number >= 1, "page"
    return items[(number - 1) * size : number * size]
