"""Refusals as HTTP answers (RFC 9457, `application/problem+json`)."""

from __future__ import annotations

import json
import math
from typing import Final

from aiohttp import web

from server.problems import Refusal

PROBLEM_JSON: Final = "application/problem+json"
#: Clients send these again by themselves (those of OpenAI's API do), and without a key it would be a second job.
_NOT_AGAIN: Final = frozenset(("conflict", "not_ready_in_time"))


def problem_response(refusal: Refusal) -> web.Response:
    """The answer for a refusal. That of another host's name has no body: it would be another site's page that reads it."""
    headers = dict(_headers(refusal))
    if refusal.code == "wrong_host":
        return web.Response(status=refusal.status, headers=headers)
    body = json.dumps(refusal.document(), ensure_ascii=False).encode("utf-8", "replace")
    return web.Response(status=refusal.status, body=body, content_type=PROBLEM_JSON, headers=headers)


def _headers(refusal: Refusal) -> list[tuple[str, str]]:
    found = []
    if refusal.retry_after_s is not None:
        found.append(("Retry-After", str(max(1, math.ceil(refusal.retry_after_s)))))
    elif refusal.code in _NOT_AGAIN:
        found.append(("X-Should-Retry", "false"))
    if refusal.code == "unauthorized":
        found.append(("WWW-Authenticate", "Bearer"))
    if refusal.code == "method_not_allowed":
        found.append(("Allow", ", ".join(refusal.facts.get("allowed", ()))))
    if refusal.code == "range_not_satisfiable" and "size_bytes" in refusal.facts:
        found.append(("Content-Range", f"bytes */{refusal.facts['size_bytes']}"))
    return found


INTERNAL: Final = "The server made a mistake; its log tells more under this request id. Try again, and report it if it stays."


def internal(request_id: str) -> Refusal:
    """What a client is told of an error that nobody foresaw: nothing of the error itself."""
    return Refusal("internal", INTERNAL, request=request_id)
