"""The token and the sessions: who has the one may open the others, and both are the same after a restart.

The token lies in HOME/token; HOME/secret signs session cookies. Whoever can read these files has the server, so both
are 0600 and a looser one is refused.
"""

from __future__ import annotations

import errno
import hashlib
import hmac
import os
import secrets
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path
from stat import S_ISREG
from typing import Final

from server.settings import WrongUsage

#: How long a session lasts.
SESSION_S: Final = 30 * 24 * 3600
_KEY_BYTES: Final = 32
_MOST_BYTES: Final = 4096
#: The files of the keys, and what they hold.
_KEYS: Final = {"token": "the token", "secret": "the secret that signs sessions"}


class Keys:
    """The token of clients and the sessions of pages. Its repr shows nothing of either."""

    def __init__(
        self, token: str, secret: bytes, port: int, closed: Path | None = None, clock: Callable[[], float] = time.time
    ) -> None:
        self._token, self._clock, self._closed_file = token, clock, closed
        self._closed = _read_closed(closed, clock()) if closed is not None else {}
        # A new token ends the sessions that the old one opened.
        self._signs = hmac.digest(secret, token.encode(), "sha256")
        #: Name of the session cookie: cookies do not know ports, and two servers must not share one.
        self.cookie = f"latentgraph_{port}"

    def __repr__(self) -> str:
        return f"Keys(cookie={self.cookie!r})"

    @classmethod
    def load(cls, home: Path, port: int) -> Keys:
        """The keys of a data folder, made if missing. Raises WrongUsage if others can read them or they are too short."""
        token, secret = check_keys(home)
        return cls(token, secret.encode(), port, home / "closed_sessions")

    @property
    def token(self) -> str:
        """The token itself, for the link that `serve` prints; nothing else may ask for it."""
        return self._token

    def is_token(self, given: str) -> bool:
        """Whether it is the token, in a time that does not tell how much of it was right."""
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._token.encode())

    def open_session(self) -> str:
        """The cookie value of a new session."""
        body = f"{secrets.token_hex(8)}.{int(self._clock()) + SESSION_S}"
        return f"{body}.{self._mac(body)}"

    def session_of(self, cookie: str) -> str | None:
        """The id of the session that a cookie stands for; None if it is not ours or is over."""
        body, _, mac = cookie.rpartition(".")
        if not body or not hmac.compare_digest(mac.encode("utf-8", "replace"), self._mac(body).encode()):
            return None
        session, _, until = body.partition(".")
        return session if int(until) > self._clock() and session not in self._closed else None

    def close_session(self, cookie: str) -> None:
        """Take the session of this cookie no more, also after a restart."""
        session = self.session_of(cookie)
        if session is None:
            return
        self._closed[session] = int(cookie.split(".")[1])
        if self._closed_file is not None:
            _write_closed(self._closed_file, self._closed)

    def _mac(self, body: str) -> str:
        return urlsafe_b64encode(hmac.digest(self._signs, body.encode("utf-8", "replace"), hashlib.sha256)).decode().rstrip("=")


def _read_closed(path: Path, now: float) -> dict[str, int]:
    """Sessions that were closed before they were over, and when they are over."""
    try:
        lines = [line.split() for line in path.read_text("ascii").splitlines()]
    except FileNotFoundError:
        return {}
    return {session: int(until) for session, until in lines if int(until) > now}


def _write_closed(path: Path, closed: dict[str, int]) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "w", encoding="ascii") as file:
        file.writelines(f"{session} {until}\n" for session, until in closed.items())
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def check_keys(home: Path) -> tuple[str, str]:
    """Token and secret of a data folder, made if missing. Raises WrongUsage if others can read them or they are too short."""
    return _key(home, "token"), _key(home, "secret")


def missing_keys(home: Path) -> tuple[str, ...]:
    """The names of the key files that are not there yet; makes nothing. Raises WrongUsage for those that are, as `check_keys`."""
    missing = []
    for name, what in _KEYS.items():
        try:
            _read(home / name, what)
        except FileNotFoundError:
            missing.append(name)
    return tuple(missing)


def _key(home: Path, name: str) -> str:
    path, what = home / name, _KEYS[name]
    try:
        return _read(path, what)
    except FileNotFoundError:
        pass
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    file = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(file, secrets.token_urlsafe(_KEY_BYTES).encode() + b"\n")
        os.fsync(file)
    finally:
        os.close(file)
    os.rename(temporary, path)
    return _read(path, what)


def _read(path: Path, what: str) -> str:
    try:
        file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        raise
    except OSError as error:
        reason = "it is a link" if error.errno == errno.ELOOP else error.strerror
        raise WrongUsage(f"{path} holds {what} and cannot be read ({reason}). Remove it: a new one is made.") from None
    try:
        status = os.fstat(file)
        text = os.read(file, _MOST_BYTES).decode("ascii", "replace").strip() if S_ISREG(status.st_mode) else ""
    finally:
        os.close(file)
    if status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise WrongUsage(
            f"{path} holds {what}, and other users can read or own it. Remove it (a new one is made), or: chmod 600 {path}"
        )
    if len(text) < _KEY_BYTES or not all("!" <= char <= "~" for char in text):
        raise WrongUsage(
            f"{path} holds {what}, which is shorter than {_KEY_BYTES} characters or has others than ASCII. Remove it: a new one is made."
        )
    return text
