"""Headers that every answer has: nothing is embedded elsewhere, guessed at, referred from or kept by proxies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from aiohttp import web

#: For everything but our own pages: whatever it is, it may do nothing.
CONTENT_POLICY: Final = "sandbox; default-src 'none'; frame-ancestors 'none'"
_ALWAYS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Content-Security-Policy": CONTENT_POLICY,
    "Cache-Control": "no-store",
}


def set_headers(response: web.StreamResponse) -> None:
    """Set them where the answer has not set them itself. No CORS header is ever set, and none passes."""
    if response.status == 101:
        return
    headers = response.headers
    for name, value in _ALWAYS.items():
        if name not in headers:
            headers[name] = value
    headers["Server"] = "latentgraph"


def page_policy(host: str) -> str:
    """The policy of our own pages: scripts, styles and connections of this server only. `host` has passed the guard."""
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; "
        f"font-src 'self'; connect-src 'self' ws://{host} wss://{host}; frame-ancestors 'none'; base-uri 'none'; "
        "form-action 'none'; require-trusted-types-for 'script'"
    )
