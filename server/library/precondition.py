"""Which version a client says it changes (If-Match, If-None-Match of RFC 9110), held against the one that is there."""

from __future__ import annotations

import hashlib
from typing import Final, NamedTuple

from server.problems import Refusal


def etag_of(data: bytes) -> str:
    """The version of a content: the SHA-256 (hex) of its bytes."""
    return hashlib.sha256(data).hexdigest()


class Precondition(NamedTuple):
    """What a request demands of the version that is there: the two headers' values without quotes.

    `match`: it must be this one, "*": there must be one. `none_match`: only "*" is taken: there must be none.
    """

    match: str | None = None
    none_match: str | None = None

    def check(self, etag: str | None, what: str) -> None:
        """Hold against the version that is there; None: there is nothing. `what` begins the sentence ('Workflow "a"').

        Raises Refusal `precondition_required` if something would be replaced without a word on which version,
        `precondition_failed` (with the current `etag`) if it is another one, and `malformed` for an If-None-Match that
        names a version.
        """
        if self.none_match not in (None, "*"):
            raise Refusal("malformed", "If-None-Match takes * here: create, replace nothing. To replace, send If-Match.")
        if etag is None:
            if self.match is not None:
                message = f"{what} is not there any more. To create it again, send If-None-Match: * instead of If-Match."
                raise Refusal("precondition_failed", message)
            return
        if self.none_match == "*":
            message = f"{what} exists already. Choose another name, or send If-Match with its ETag to replace it."
            raise Refusal("precondition_failed", message, etag=etag)
        if self.match is None:
            message = f"{what} exists already. Send If-Match with the ETag you read, or If-None-Match: * to create only."
            raise Refusal("precondition_required", message, etag=etag)
        if self.match not in ("*", etag):
            message = f"{what} was changed meanwhile. Read it again and change that version; its ETag is in `etag`."
            raise Refusal("precondition_failed", message, etag=etag)


#: Only what is not there yet may be written.
CREATE: Final = Precondition(none_match="*")
