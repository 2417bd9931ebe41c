"""Engines that misbehave, started in place of the real one: how is what follows the colon of the option `library`.

Those that send odd bytes are followed by a real engine. Imports nothing heavy: the back-off test starts many.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
from pathlib import Path

import msgpack


def frame(body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + body


HELLO = frame(msgpack.packb(["Hello", 1, ["cpu"], "", ""]))
ODD = {
    "too_large": struct.pack(">I", 2**31) + b"x",
    "cut": struct.pack(">I", 100) + b"x",
    "header": b"\0\0",
    "unknown": frame(msgpack.packb(["Goodbye", 1])),
    "wrong_way": frame(msgpack.packb(["Ping", 1])),
    "fields": frame(msgpack.packb(["Pong", 1, 2])),
    "type": frame(msgpack.packb(["Pong", "1"])),
    "extension": frame(msgpack.packb(["Pong", msgpack.ExtType(5, b"x")])),
    "timestamp": frame(msgpack.packb(["Pong", msgpack.Timestamp(1, 0)])),
    "no_list": frame(msgpack.packb({"Pong": 1})),
    "empty": frame(b""),
    "noise": frame(b"\xc1" * 20),
    "deep": frame(b"\x91" * 100_000),
    "more": frame(msgpack.packb(["Pong", 1]) + b"\0"),
    "protocol": frame(msgpack.packb(["Hello", 99, ["cpu"], "", ""])),
}


def main(fileno: str, options: str) -> None:
    stream = socket.socket(fileno=int(fileno))
    facts = json.loads(options)
    how = facts["library"].partition(":")[2]
    if how == "exit":
        os._exit(3)
    mark = Path(facts["home"]) / "misbehaved"
    if mark.exists():
        from server.engine.process import main as real

        facts["library"] = "tests.server.engine.engine_nodes:equipment"
        real([str(stream.detach()), json.dumps(facts)])
    mark.touch()
    stream.sendall((b"" if how == "protocol" else HELLO) + ODD[how])
    if how in ("cut", "header"):
        os._exit(0)
    while stream.recv(65_536):  # it would go on as if nothing were wrong
        pass


if __name__ == "__main__":
    main(*sys.argv[1:])
