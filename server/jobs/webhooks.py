"""Webhooks: at a job's end, one signed POST to a target that the settings name, tried again until it is taken.

Deliveries lie in the job store, so that a restart loses none. The body names the job and how it ended, never what it
was asked. Where a target leads is looked up once per attempt and that address is used: one that the outside cannot reach is
refused, unless the settings name this machine itself or say that the target lies in a private network.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import logging
import socket
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol
from urllib.parse import urlsplit

from graph.errors import nearest
from server.jobs.record import Delivery, Job
from server.problems import Refusal
from server.settings import WrongUsage

if TYPE_CHECKING:
    from aiohttp.abc import ResolveResult

#: Seconds until the next attempt, after the first, the second, ...; after the last the delivery is given up.
RETRY_S: Final = (1.0, 5.0, 25.0, 120.0, 600.0, 1800.0, 3600.0, 3600.0)
#: Seconds for one attempt.
ATTEMPT_S: Final = 10.0
#: Attempts under way of one target; those of another never wait for them.
MOST_PER_TARGET: Final = 2
#: Seconds until an outcome that the store did not take is told to it again.
NOTE_AGAIN_S: Final = 5.0
#: The store is asked at least so often.
_LOOK_S: Final = 30.0
#: Networks that belong to whoever runs them. Not those of one machine or one cable: there, nobody waits for a webhook.
_PRIVATE: Final = tuple(map(ipaddress.ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7")))
#: Networks that embed other addresses, which may be private.
_EMBEDDING: Final = tuple(map(ipaddress.ip_network, ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32")))

_log = logging.getLogger("latentgraph.webhooks")
Addresses = list[str]
#: Host and port to addresses.
Resolve = Callable[[str, int], Awaitable[Addresses]]


class Target(NamedTuple):
    """Where to, and the key of the signature."""

    url: str
    secret: bytes
    #: It may lie in a private network.
    is_private: bool = False


class Deliveries(Protocol):
    """The part of the job store that webhooks need."""

    def get(self, id: str) -> Future[Job | None]:
        """A job."""

    def due_deliveries(self, targets: Collection[str], most_each: int) -> Future[list[Delivery]]:
        """What is to be delivered now."""

    def next_delivery_in(self, targets: Collection[str]) -> Future[float | None]:
        """Seconds until the next delivery is due; None if none waits."""

    def mark_delivery(self, id: int, *, again_in_s: float | None, message: str = ...) -> Future[None]:
        """Note an attempt."""

    def give_up_deliveries(self, targets: Collection[str], message: str) -> Future[None]:
        """End those that wait for any other target."""


class _Configured(Protocol):
    """A target as the settings have it."""

    @property
    def url(self) -> str:
        """Where to."""

    @property
    def secret(self) -> Any:  # Any: pydantic's SecretStr; the settings are not imported here
        """The key of the signature."""

    @property
    def private(self) -> bool:
        """Whether it may lie in a private network."""


class _Refused(Exception):
    """This attempt failed, and why."""


class Webhooks:
    """Delivers what the store holds. `start` it, `stop` it; `job_ended` makes it look at once.

    Raises WrongUsage for a target whose address cannot be used, or is one to which nothing is delivered.
    """

    def __init__(
        self, targets: Mapping[str, Target], store: Deliveries, resolve: Resolve | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:  # fmt: skip
        self._targets, self._store = dict(targets), store
        self._resolve, self._sleep = resolve or _resolve, sleep
        for name, target in self._targets.items():
            _check_target(name, target)
        self._wake = asyncio.Event()
        self._loop: asyncio.Task[None] | None = None
        self._under_way: dict[int, asyncio.Task[None]] = {}
        self._by_target: dict[str, int] = {}

    @classmethod
    def of(cls, configured: Mapping[str, _Configured], store: Deliveries) -> Webhooks:
        """The webhooks of a settings file."""
        targets = {name: Target(one.url, one.secret.get_secret_value().encode(), one.private) for name, one in configured.items()}
        return cls(targets, store)

    def check(self, name: str) -> None:
        """Refuse a name that the settings do not have."""
        if name not in self._targets:
            known = nearest(name, self._targets) or " None are set up: the operator names them under `webhooks` in settings.toml."
            raise Refusal("invalid", f'There is no webhook "{name}".{known}', pointer="/webhook")

    async def start(self) -> None:
        """Give up what waits for a target that the settings name no more, then begin to deliver."""
        gone = "given up: the settings name no such target any more"
        try:
            await asyncio.wrap_future(self._store.give_up_deliveries(self._targets, gone))
        except Refusal as refusal:  # the next start will do it
            _log.error("Webhooks whose target is gone cannot be given up: %s", refusal.message)
        if self._targets:
            self._loop = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Stop; what was not delivered is after the next start."""
        tasks = [*self._under_way.values(), *([self._loop] if self._loop is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def job_ended(self, job: Job) -> None:
        """Look for deliveries now, if the job has one."""
        if job.webhook is not None:
            self._wake.set()

    async def _run(self) -> None:
        while True:
            self._wake.clear()
            wait_s = _LOOK_S
            before = frozenset(self._under_way)
            try:
                for delivery in await asyncio.wrap_future(self._store.due_deliveries(self._targets, MOST_PER_TARGET)):
                    if delivery.id not in before:  # such a one may be over by now, and the answer older than its end
                        self._begin(delivery)
                wait_s = await self._wait_s()
            except Refusal as refusal:  # the disk is full, say: it may be better later
                _log.error("Webhooks cannot be read from the store: %s", refusal.message)
            try:
                async with asyncio.timeout(wait_s):
                    await self._wake.wait()
            except TimeoutError:
                pass

    async def _wait_s(self) -> float:
        if self._under_way:
            return 1.0  # the store takes those that are under way for due
        due_s = await asyncio.wrap_future(self._store.next_delivery_in(self._targets))
        return _LOOK_S if due_s is None else min(_LOOK_S, due_s + 0.01)

    def _begin(self, delivery: Delivery) -> None:
        count = self._by_target.get(delivery.target, 0)
        if count < MOST_PER_TARGET:
            self._by_target[delivery.target] = count + 1
            self._under_way[delivery.id] = asyncio.create_task(self._attempt(delivery))

    async def _attempt(self, delivery: Delivery) -> None:
        try:
            await self._note(delivery, *await self._outcome(delivery))
            self._wake.set()
        except Refusal as refusal:  # it stays due; nobody is woken, or it would be begun again without pause
            _log.error("The job of a webhook cannot be read from the store: %s", refusal.message, extra={"job": delivery.job})
        finally:
            self._by_target[delivery.target] -= 1
            del self._under_way[delivery.id]

    async def _note(self, delivery: Delivery, again_in_s: float | None, message: str) -> None:
        """Note what became of an attempt, however long the disk is full: until then it is under way, so not begun again."""
        is_told = False
        while True:
            try:
                await asyncio.wrap_future(self._store.mark_delivery(delivery.id, again_in_s=again_in_s, message=message))
                return
            except Refusal as refusal:
                if not is_told:
                    _log.error("What became of a webhook cannot be noted: %s", refusal.message, extra={"job": delivery.job})
                is_told = True
            await self._sleep(NOTE_AGAIN_S)

    async def _outcome(self, delivery: Delivery) -> tuple[float | None, str]:
        """In how many seconds it is to be tried again (None: it is over), and what is noted."""
        job = await asyncio.wrap_future(self._store.get(delivery.job))
        if job is None:
            return None, "given up: the job was deleted"
        try:
            async with asyncio.timeout(ATTEMPT_S):
                await self._post(delivery, self._targets[delivery.target], job)
        except (_Refused, TimeoutError, OSError, ValueError) as error:
            said = f"no answer within {ATTEMPT_S:g} s" if isinstance(error, TimeoutError) else str(error)[:300]
            again = RETRY_S[delivery.attempts] if delivery.attempts < len(RETRY_S) else None
            noted = said if again is not None else f"given up: {said}"
            _log.warning("Webhook %s failed: %s.", delivery.target, noted, extra={"job": job.id})
            return again, noted
        return None, "delivered"

    async def _post(self, delivery: Delivery, target: Target, job: Job) -> None:
        import aiohttp  # its client half is needed only here

        host, port, is_local = _place(target.url)
        addresses = await self._resolve(host, port)
        _check(addresses, is_local, target.is_private)
        body = body_of(job)
        headers = signed(f"{job.id}-{delivery.id}", int(time.time()), body, target.secret)
        connector = aiohttp.TCPConnector(resolver=_pinned(addresses), use_dns_cache=False, force_close=True, limit=1)
        session = aiohttp.ClientSession(
            connector=connector, trust_env=False, auto_decompress=False, cookie_jar=aiohttp.DummyCookieJar()
        )
        try:
            async with session, session.post(target.url, data=body, headers=headers, allow_redirects=False) as answer:
                status = answer.status  # the body of the answer is not read
        except aiohttp.ClientError as error:
            raise _Refused(type(error).__name__) from error
        if not 200 <= status < 300:
            raise _Refused(f"it answered {status}")


def body_of(job: Job) -> bytes:
    """What a webhook is told: which job, and how it ended. Nothing of what was asked, no text that a node wrote."""
    said: dict[str, Any] = {"id": job.id, "state": job.state, "workflow": job.workflow, "client": job.client}
    said |= {"created": job.created, "started": job.started, "ended": job.ended, "retry_of": job.retry_of}
    if job.result is not None:
        said["seconds"] = job.result.seconds
        problem = job.result.problem
        if problem is not None:
            said["problem"] = {name: problem[name] for name in ("code", "node") if name in problem}
    return json.dumps(said, separators=(",", ":")).encode()


def signed(id: str, timestamp: int, body: bytes, secret: bytes) -> dict[str, str]:
    """The headers of a delivery. The signature is over id, time and body, so that none of them can be exchanged."""
    mac = hmac.digest(secret, f"{id}.{timestamp}.".encode() + body, "sha256").hex()
    return {
        "Content-Type": "application/json",
        "User-Agent": "latentgraph",
        "Webhook-Id": id,
        "Webhook-Timestamp": str(timestamp),
        "Webhook-Signature": f"v1={mac}",
    }


def _place(url: str) -> tuple[str, int, bool]:
    """Host, port, and whether the URL itself names this machine."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    try:
        is_local = ipaddress.ip_address(host).is_loopback
    except ValueError:
        is_local = host == "localhost"
    return host, parts.port or (443 if parts.scheme == "https" else 80), is_local


def _check_target(name: str, target: Target) -> None:
    where, url = f"The address of webhook {name} in the settings", target.url
    try:
        host, port, is_local = _place(url)
    except ValueError as error:
        raise WrongUsage(f"{where} cannot be read. Write it as https://host/path.") from error
    if not host or not (url.startswith("https://") or (is_local and url.startswith("http://"))):
        raise WrongUsage(f"{where} is not https. Only this machine itself may be reached by http; write https://host/path.")
    for address in _written(host, port):  # a name's addresses are looked up at each attempt: they may change
        if not _may_lead_to(address, is_local, target.is_private):
            raise WrongUsage(f"{where} is {host}, {_refusal_of(address, name)}")


def _refusal_of(address: str, name: str) -> str:
    if _is_private(address):
        return (
            f"which is in a private network. If that is meant, write private = true under [webhooks.{name}]; else give a public "
            "address."
        )
    return "which is in no network that webhooks go to. Give a public address; this machine itself is http://127.0.0.1."


def _written(host: str, port: int) -> Addresses:
    """The address that a host of digits stands for, in any way of writing it; nothing for a name."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, ValueError):
        return []
    return [str(entry[4][0]) for entry in found]


def _check(addresses: Addresses, is_local: bool, is_private: bool) -> None:
    """Refuse addresses that a target may not lead to."""
    if not addresses:
        raise _Refused("its host has no address")
    for address in addresses:
        if not _may_lead_to(address, is_local, is_private):
            advice = ", which private = true in its settings allows" if not is_local and _is_private(address) else ""
            raise _Refused(f"its host's address is in a private network{advice}")


def _may_lead_to(address: str, is_local: bool, is_private: bool) -> bool:
    if is_local:
        return _is_loopback(address)
    return _is_public(address) or (is_private and _is_private(address))


def _is_loopback(address: str) -> bool:
    return ipaddress.ip_address(address).is_loopback


def _is_private(address: str) -> bool:
    found = ipaddress.ip_address(address.partition("%")[0])
    return any(found in network for network in _PRIVATE)


def _is_public(address: str) -> bool:
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        if found.ipv4_mapped is not None:
            return found.ipv4_mapped.is_global
        if found.is_site_local or any(found in network for network in _EMBEDDING):
            return False
    return found.is_global and not found.is_multicast and not found.is_reserved


async def _resolve(host: str, port: int) -> Addresses:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [str(entry[4][0]) for entry in found]


@dataclass(frozen=True)
class _Pinned:
    """Answers every question with the addresses that were checked."""

    addresses: Addresses

    async def resolve(self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC) -> list[ResolveResult]:
        return [
            {
                "hostname": host,
                "host": address,
                "port": port,
                "family": socket.AF_INET6 if ":" in address else socket.AF_INET,
                "proto": socket.IPPROTO_TCP,
                "flags": socket.AI_NUMERICHOST,
            }
            for address in self.addresses
        ]

    async def close(self) -> None:
        pass


def _pinned(addresses: Addresses) -> Any:  # Any: an aiohttp resolver by form; its base class is not imported at the top
    return _Pinned(addresses)
