"""`latentgraph serve`: listens first, loads the rest while it already answers, and ends without losing anything.

This module and what it imports at its top need neither pydantic nor the engine: the page and `/healthz` are there at
once, and requests for the rest wait until it is loaded.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import json
import logging
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from graph.errors import LatentgraphError
from server.api.connections import Connections, Limits
from server.api.front import Front
from server.api.guard import Names
from server.api.session import Keys, check_keys
from server.api.table import light_table
from server.lock import HomeLock, private_home
from server.log import log_to
from server.open_files import allow_open_files, open_files
from server.settings import DEFAULT_HOST, DEFAULT_PORT, HOME_VARIABLE, WrongUsage
from server.usable import given_by_flags, refuse_unusable

if TYPE_CHECKING:
    from server.assembly import Assembly
    from server.configuration import Loaded, Settings

_log: Final = logging.getLogger("latentgraph.serve")

#: Exit code after a second signal.
AT_ONCE: Final = 130
#: Answers under way when everything else has ended get this long.
CLOSE_S: Final = 2.0
_REPEAT_S: Final = 10.0
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_EVERYWHERE: Final = ("0.0.0.0", "::")


class PortTaken(LatentgraphError):
    """Something else listens there; exit code 1."""


class Place(NamedTuple):
    """Where to listen and under which further names."""

    host: str
    port: int
    hosts: Sequence[str] = ()
    origins: Sequence[str] = ()

    @classmethod
    def of(cls, settings: Settings) -> Place:
        """Where settings say."""
        return cls(settings.host, settings.port, settings.hosts, settings.origins)


def serve(home: Path, flags: Mapping[str, Any], as_json: bool) -> int:  # Any: plain values
    """Run a server until a signal ends it; the exit code. Raises WrongUsage, ServerRuns and other LatentgraphErrors."""
    os.umask(0o077)
    private_home(home)
    with HomeLock(home):
        check_keys(home)
        loaded = None if _is_plain(home, flags) else _load_settings(home, flags)
        place = Place(flags.get("host") or DEFAULT_HOST, DEFAULT_PORT if flags.get("port") is None else flags["port"])
        if loaded is not None:
            place = Place.of(loaded.settings)
        check_place(place)
        refuse_unusable(given_by_flags(flags) if loaded is None else loaded.given())
        sockets = bind(place)
        log_to(sys.stderr, loaded.settings.log_level if loaded is not None else "info")
        for sentence in () if loaded is None else loaded.warnings:
            _log.warning("%s", sentence)
        return asyncio.run(Running(home, flags, place, sockets, as_json, loaded).run())


def _is_plain(home: Path, flags: Mapping[str, Any]) -> bool:
    """Whether nothing but flags says anything, and these are good: then it may listen before settings are loaded."""
    from_elsewhere = any(name.upper().startswith("LATENTGRAPH_") and name != HOME_VARIABLE for name in os.environ)
    return not from_elsewhere and not flags.get("hosts") and not (home / "settings.toml").exists()


def _load_settings(home: Path, flags: Mapping[str, Any]) -> Loaded:
    from server.configuration import load_settings  # pydantic: only now

    return load_settings(home, flags)


def check_place(place: Place) -> None:
    """Raises WrongUsage for an address of the whole machine without a name that requests must come for."""
    if place.host in _EVERYWHERE and not place.hosts:
        raise WrongUsage(
            f"The host {place.host} listens on every network of this machine, and no name is allowed. Name what clients call it: "
            "--allow-host NAME (or hosts in settings.toml), or listen on 127.0.0.1."
        )


def bind(place: Place) -> list[socket.socket]:
    """Sockets bound to each address of the host, with one port.

    Raises WrongUsage for no such host, PortTaken, and LatentgraphError for what else the system refuses.
    """
    try:
        found = socket.getaddrinfo(place.host, place.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError):
        raise WrongUsage(f"The host {place.host!r} is no address of this machine. Use 127.0.0.1, or one it has.") from None
    sockets: list[socket.socket] = []
    port = place.port
    for family, kind, protocol, _, address in dict.fromkeys(found):
        one = socket.socket(family, kind, protocol)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        try:
            one.bind((address[0], port, *address[2:]))
        except OSError as error:
            one.close()
            if sockets and family == socket.AF_INET6:  # a machine without IPv6 still knows the name ::1
                continue
            for other in sockets:
                other.close()
            raise _unbound(f"{place.host}:{port}", error) from None
        port = one.getsockname()[1]
        sockets.append(one)
    return sockets


def _unbound(address: str, error: OSError) -> LatentgraphError:
    """What to do about an address that the system does not give us. It may yet: so no wrong usage, and worth another try."""
    said = f"{address} cannot be listened on ({error.strerror or error})."
    if error.errno == errno.EADDRINUSE:
        return PortTaken(f"{said} Stop what uses it, or give another --port (0: any).")
    if error.errno == errno.EADDRNOTAVAIL:
        return LatentgraphError(f"{said} This machine does not have that address now: give one it has with --host, as 127.0.0.1.")
    if error.errno == errno.EACCES:
        return LatentgraphError(f"{said} Give a --port that needs no rights, as {DEFAULT_PORT}, and put a proxy before it.")
    return LatentgraphError(f"{said} Give another --host or --port.")


def link_host(place: Place, port: int) -> str:
    """Host and port of the link that is printed."""
    if place.host in _EVERYWHERE:
        name = place.hosts[0]
        return name if ":" in name else f"{name}:{port}"
    try:
        is_v6 = ipaddress.ip_address(place.host).version == 6
    except ValueError:
        is_v6 = False
    return f"[{place.host}]:{port}" if is_v6 else f"{place.host}:{port}"


@dataclass
class Running:
    """A server from its first answer to its end."""

    home: Path
    flags: Mapping[str, Any]
    place: Place
    sockets: list[socket.socket]
    as_json: bool
    loaded: Loaded | None
    signals: int = 0
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _failure: BaseException | None = None

    async def run(self) -> int:
        """Serve until told to stop; the exit code. Raises what made serving impossible."""
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, self._on_signal)
        loop.set_exception_handler(Unforeseen())
        port = self.sockets[0].getsockname()[1]
        keys = Keys.load(self.home, port)
        host = link_host(self.place, port)
        names = Names.of(port, (*self.place.hosts, *([] if self.place.host in _EVERYWHERE else [host])), self.place.origins)
        front = Front(names, keys, light_table())
        connections = Connections(front.answer, _fitting(Limits() if self.loaded is None else self.loaded.settings.limits()))
        await connections.listen(*self.sockets)
        self._announce(f"http://{host}", keys.token)
        opening = asyncio.create_task(self._open(front, connections, keys), name="opening")
        try:
            await self._stop.wait()
            await self._end(front, connections, opening)
        finally:
            opening.cancel()
        if self._failure is not None:
            raise self._failure
        return 0

    def _announce(self, url: str, token: str) -> None:
        """The one line on stdout."""
        link = json.dumps({"url": url, "token": token}) if self.as_json else f"{url}/#token={token}"
        print(link, flush=True)

    def _on_signal(self) -> None:
        self.signals += 1
        if self.signals > 1:
            _log.warning("A second signal: leaving at once. Running jobs start again with the next server.")
            os._exit(AT_ONCE)
        _log.info("Told to stop: no new jobs; running ones may end.")
        self._stop.set()

    async def _open(self, front: Front, connections: Connections, keys: Keys) -> Assembly | None:
        """Load and start everything, then serve it. What goes wrong ends the server."""
        try:
            assembly = await asyncio.get_running_loop().run_in_executor(None, self._load)
            if self.loaded is None:
                connections.limits = _fitting(assembly.loaded.settings.limits())
            if shortage := assembly.loaded.settings.limits().shortage(open_files().now):
                _log.warning("%s", shortage)
            await assembly.start(front, keys, self.fail)
        except Exception as error:
            self.fail(error)
            return None
        _log.info("Ready.")
        return assembly

    def _load(self) -> Assembly:
        from server.assembly import load  # everything else: pydantic, the graph's modules, the routes

        return load(self.home, self.flags, self.loaded)

    def fail(self, error: BaseException) -> None:
        """End the server because of this; the exit code is not 0."""
        if not isinstance(error, LatentgraphError):
            _log.error("The server cannot go on.", exc_info=error)
            error = LatentgraphError("The server cannot go on; its log tells why. Start it again.")
        self._failure = self._failure or error
        self._stop.set()

    async def _end(self, front: Front, connections: Connections, opening: asyncio.Task[Assembly | None]) -> None:
        assembly = await opening if opening.done() or self._failure is None else None
        if assembly is not None:
            await assembly.drain()
        await connections.close(CLOSE_S)
        if assembly is not None:
            await assembly.close()


def _fitting(limits: Limits) -> Limits:
    """The limits of connections, within the files that this process may have open: as many as they need, if the system lets it."""
    return limits.within(allow_open_files(limits.open_files))


class Unforeseen:
    """Logs what asyncio itself has to tell (no more open files, errors in callbacks), the same at most every `_REPEAT_S`."""

    def __init__(self) -> None:
        self._told: dict[str, float] = {}

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """As asyncio's exception handler."""
        error, message = context.get("exception"), str(context.get("message", "An error in the event loop"))
        if isinstance(error, ConnectionError):
            return
        now = loop.time()
        if now - self._told.get(message, -_REPEAT_S) >= _REPEAT_S:
            self._told[message] = now
            _log.error("%s", message, exc_info=error)
