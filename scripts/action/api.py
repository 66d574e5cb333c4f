"""The few requests to GitHub's REST and GraphQL API that the action makes."""

from __future__ import annotations

import json
import os
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

PER_PAGE = 100
PAGES = 100
"""A list of more pages is not read to its end."""
TIMEOUT = 30
TRIES = 3


class ApiError(Exception):
    """A request that was not answered as it should be: the status (0 where there was none) and what was said."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(f"status {status}: {said}" if status else said)
        self.status = status


class NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the token to another host."""

    def redirect_request(self, *_: Any) -> None:
        return None


OPENER = urllib.request.build_opener(NoRedirect)


@dataclass(frozen=True)
class Api:
    """Where the API is, which repository is meant, and the token."""

    url: str
    graphql: str
    repository: str
    token: str

    @staticmethod
    def of(environment: Mapping[str, str]) -> Api:
        return Api(
            environment.get("GITHUB_API_URL", "https://api.github.com"),
            environment.get("GITHUB_GRAPHQL_URL", "https://api.github.com/graphql"),
            environment.get("GITHUB_REPOSITORY", ""),
            environment.get("REPRO_TOKEN", ""),
        )

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """One request below the repository."""
        return self.send(method, f"{self.url}/repos/{self.repository}/{path}", body)

    def all(self, path: str) -> list[Any]:
        """Every item of a list that comes in pages. Pages are counted here, so that no answer names the next address."""
        items: list[Any] = []
        for page in range(1, PAGES + 1):
            part = self.ask("GET", f"{path}?per_page={PER_PAGE}&page={page}")
            if not isinstance(part, list):
                raise ApiError(0, f"no list at {path}")
            items.extend(part)
            if len(part) < PER_PAGE:
                break
        return items

    def login(self) -> str:
        """Who the token speaks for."""
        answer = self.send("POST", self.graphql, {"query": "{ viewer { login } }"})
        try:
            return str(answer["data"]["viewer"]["login"])
        except (KeyError, TypeError) as error:
            raise ApiError(0, f"no login in {answer!r}") from error

    def send(self, method: str, url: str, body: dict[str, Any] | None) -> Any:
        if not self.token:
            raise ApiError(0, "no token was given")
        request = urllib.request.Request(
            url,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Accept": "application/vnd.github+json",
                "Authorization": f"Bearer {self.token}",
                "Content-Type": "application/json",
                "User-Agent": "repro-action",
                "X-GitHub-Api-Version": "2022-11-28",
            },
        )
        for left in reversed(range(TRIES)):
            try:
                return answered(request)
            except ApiError as error:
                # A request that changes something may have arrived.
                is_passing = method == "GET" and (error.status == 0 or error.status >= 500)
                if not is_passing or left == 0:
                    raise
                time.sleep(float(os.environ.get("REPRO_RETRY_SECONDS", "2")))
        raise AssertionError("every try returns or raises")


def answered(request: urllib.request.Request) -> Any:
    try:
        with OPENER.open(request, timeout=TIMEOUT) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise ApiError(error.code, message(error)) from error
    except (OSError, ValueError) as error:
        raise ApiError(0, str(error)) from error


def message(error: urllib.error.HTTPError) -> str:
    """What GitHub says of a request that it refuses."""
    try:
        return str(json.load(error)["message"])
    except (OSError, ValueError, KeyError, TypeError):
        return str(error.reason)
