"""Who may ask: the name the server is called by, the site a request comes from, and the token or session it carries.

In this order, before anything of a request is read or looked up. A web page that is open in the user's browser can send
requests here; none of these rules alone stops it (measured with Chromium: WebSocket handshakes carry no Sec-Fetch
headers, picture requests no Origin, and a page on another port of this machine counts as `same-site`).
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from server.api.route import SAFE_METHODS, Caller, Route
from server.problems import Refusal

if TYPE_CHECKING:
    from aiohttp import web

    from server.api.session import Keys

_log: Final = logging.getLogger("latentgraph.http")

#: Bytes of all headers of one request together.
MOST_HEADER_BYTES: Final = 16 * 1024
_MOST_CLIENT_NAME: Final = 64
#: So much of a name that is not ours goes to the log.
_MOST_HOST_NAME: Final = 100


@dataclass(frozen=True)
class Names:
    """What the server is called: exact values of Host, and the exact origins of its own page."""

    hosts: frozenset[str]
    origins: frozenset[str]

    @classmethod
    def of(cls, port: int, hosts: Iterable[str] = (), origins: Iterable[str] = ()) -> Names:
        """The three names of this machine with the port, and the configured ones (with or without a port of their own)."""
        local = [f"127.0.0.1:{port}", f"localhost:{port}", f"[::1]:{port}"]
        further = [host.lower() for host in hosts]
        named = {name for host in further for name in ((host,) if _has_port(host) else (host, f"{host}:{port}"))}
        if port == 80:
            local += ["127.0.0.1", "localhost", "[::1]"]
        every = frozenset(local) | named
        pages = {f"http://{host.removesuffix(':80')}" for host in every}
        return cls(every, frozenset(pages | set(origins)))


def _has_port(host: str) -> bool:
    return host.rpartition(":")[2].isdigit() and not host.endswith("]")


class Strangers:
    """The names that requests came for and the server does not go by: each is logged once, `most` of them in all."""

    def __init__(self, most: int = 20) -> None:
        self._most = most
        self._told: set[str] = set()

    def tell(self, name: str) -> None:
        """Log a name, which anybody may have made up."""
        shown = "".join(char if "!" <= char <= "~" else "?" for char in name[:_MOST_HOST_NAME])
        if not shown or shown in self._told or len(self._told) == self._most:
            return
        self._told.add(shown)
        _log.warning(
            "A request for %s was refused: this server does not go by that name. If clients are to call it so, add the name to "
            "`hosts` in settings.toml or give --allow-host.",
            shown,
        )


def check_host(request: web.Request, names: Names, strangers: Strangers) -> None:
    """Refuse a request that was meant for another name (DNS rebinding). Raises Refusal `wrong_host`."""
    host = request.headers.get("Host", "").lower()
    if host not in names.hosts:
        strangers.tell(host)
    if host not in names.hosts or _named_in_target(request.raw_path, host) not in names.hosts:
        raise Refusal("wrong_host", "The request is for another host.")


def _named_in_target(target: str, host: str) -> str:
    """The host that the request line itself names, as a request to a proxy does; else that of the header."""
    if target.startswith("/") or "://" not in target:
        return host
    return target.partition("://")[2].partition("/")[0].lower()


def check_origin(request: web.Request, names: Names) -> None:
    """Refuse what another site's page sends. Raises Refusal `forbidden_origin`."""
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    if origin is None and _is_navigation_to_the_page(request):
        return
    if origin is not None and origin not in names.origins:
        raise _foreign()
    if site is not None and site not in ("same-origin", "none"):
        raise _foreign()
    if len(request.headers.getall("Origin", [])) > 1 or len(request.headers.getall("Sec-Fetch-Site", [])) > 1:
        raise _foreign()


def _foreign() -> Refusal:
    return Refusal(
        "forbidden_origin",
        "The request comes from a page of another site. Use the server's own page, or a client with the token.",
    )


def _is_navigation_to_the_page(request: web.Request) -> bool:
    """Whether a link somewhere leads to the page itself: that shows it, and does nothing else."""
    headers = request.headers
    return (
        request.method == "GET"
        and request.path == "/"
        and headers.get("Sec-Fetch-Mode") == "navigate"
        and headers.get("Sec-Fetch-Dest") == "document"
    )


class Guesses:
    """Wrong tokens per address: a bucket of `most` that fills up again by one each `every_s`. Memory is bounded."""

    def __init__(
        self, most: int = 100, every_s: float = 1.0, addresses: int = 4096, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._most, self._every_s, self._addresses, self._clock = most, every_s, addresses, clock
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wrong(self, address: str) -> float:
        """Note a wrong token; the seconds until the next guess is looked at, 0 while there are some left."""
        now = self._clock()
        left, since = self._buckets.pop(address, (float(self._most), now))
        left = min(self._most, left + (now - since) / self._every_s)
        wait_s = 0.0 if left >= 1 else (1 - left) * self._every_s
        self._buckets[address] = (left - 1 if left >= 1 else left, now)
        if len(self._buckets) > self._addresses:
            self._buckets.popitem(last=False)
        return wait_s


def authenticate(request: web.Request, route: Route | None, keys: Keys, guesses: Guesses, names: Names) -> Caller:
    """Who calls. `route` is None for an address that does not exist: that too is told only to who has the token.

    Raises Refusal `unauthorized`, `too_many_requests` (wrong tokens only: the right one always gets in), and
    `forbidden_origin` for a session that changes something without saying where from.
    """
    if route is not None and route.access == "open":
        return Caller("nobody", "page")
    header = request.headers.get("Authorization")
    if header is not None:
        return _bearer(request, header, keys, guesses)
    session = keys.session_of(request.cookies.get(keys.cookie, ""))
    if session is None:
        raise unauthorized()
    if route is not None and route.bearer_only:
        raise Refusal("unauthorized", "This address takes the token only, no session. Send `Authorization: Bearer TOKEN`.")
    is_upgrade = request.headers.get("Upgrade") is not None
    if (request.method not in SAFE_METHODS or is_upgrade) and request.headers.get("Origin") not in names.origins:
        raise _foreign()
    return Caller("session", f"page-{session[:12]}", session)


def _bearer(request: web.Request, header: str, keys: Keys, guesses: Guesses) -> Caller:
    scheme, _, token = header.partition(" ")
    if scheme.lower() == "bearer" and keys.is_token(token.strip()):
        return Caller("bearer", _client_name(request))
    refuse_guess(request, guesses)
    raise unauthorized()


def refuse_guess(request: web.Request, guesses: Guesses) -> None:
    """Count a wrong token of this address. Raises Refusal `too_many_requests` when there were too many."""
    wait_s = guesses.wrong(request.remote or "")
    if wait_s:
        raise Refusal(
            "too_many_requests",
            "Too many wrong tokens came from this address. Wait, then send the right one.",
            retry_after_s=wait_s,
        )


def unauthorized() -> Refusal:
    """The refusal of who has neither the token nor a session; the same for every reason."""
    return Refusal(
        "unauthorized",
        "There is no valid token or session with the request. Send `Authorization: Bearer TOKEN`, or open the link that "
        "`latentgraph serve` printed.",
    )


def _client_name(request: web.Request) -> str:
    name = request.headers.get("Latentgraph-Client", "")
    is_name = 0 < len(name) <= _MOST_CLIENT_NAME and name.isascii() and name.isprintable()
    return name if is_name else "api"


def check_headers(request: web.Request) -> None:
    """Bounds of the headers, and the form of those that handlers read. Raises Refusal `malformed`, `invalid`."""
    size = sum(len(name) + len(value) + 4 for name, value in request.raw_headers)
    if size > MOST_HEADER_BYTES:
        raise Refusal("malformed", f"The headers take {size} bytes; {MOST_HEADER_BYTES} are read. Send fewer or shorter ones.")
    key = request.headers.get("Idempotency-Key")
    if key is not None and not (0 < len(key) <= 255 and all("!" <= char <= "~" for char in key)):
        raise Refusal("malformed", "The Idempotency-Key is not 1 to 255 visible ASCII characters. Send such a key, or none.")
