"""kill -9 of the server process at its system calls, one name at a time: what was answered is there, and ends once (R-C02)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import pytest

from tests.rig.serving import Server
from tests.rig.sweep import Sweep
from tests.server.whole.conftest import MakeServer

pytestmark = [pytest.mark.spec("R-C02", "R-C07"), pytest.mark.tool("strace")]

#: Calls by which something becomes durable or known. Imports make most `openat`, so of these it is one in 40.
EVERY = ("pwrite64", "fdatasync", "fsync", "ftruncate", "rename", "unlink", "sendto", "writev")
#: In the middle of a commit, between a commit and its answer, while starting.
SOME = (("pwrite64", 25), ("fdatasync", 3), ("openat", 700))


def swept(server: Server, points: Iterable[tuple[str, int]]) -> Sweep:
    sweep = Sweep(server)
    try:
        for name, number in points:
            if sweep.live(name, number):
                break
        sweep.check()
    finally:
        server.stop()
    return sweep


@pytest.mark.slow
@pytest.mark.proves(1)
def test_killed_at_some_of_its_system_calls_the_server_keeps_what_it_answered(make_server: MakeServer) -> None:
    swept(make_server(), SOME)


@pytest.mark.long
@pytest.mark.parametrize("name", EVERY)
def test_killed_at_each_of_its_system_calls_the_server_keeps_what_it_answered(make_server: MakeServer, name: str) -> None:
    swept(make_server(), ((name, number) for number in itertools.count(1)))


@pytest.mark.long
def test_killed_while_it_opens_files_the_server_keeps_what_it_answered(make_server: MakeServer) -> None:
    swept(make_server(), (("openat", number) for number in itertools.count(1, 40)))
