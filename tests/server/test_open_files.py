"""A process allows itself the files that it needs, as far as the system lets it."""

from __future__ import annotations

import resource

import pytest

from server.open_files import allow_open_files, open_files


class System:
    """The limits of a process, whose system grants at most `granted`."""

    def __init__(self, soft: int, hard: int, granted: int = 10**6) -> None:
        self.limits, self.granted = (soft, hard), granted

    def getrlimit(self, which: int) -> tuple[int, int]:
        assert which == resource.RLIMIT_NOFILE
        return self.limits

    def setrlimit(self, which: int, limits: tuple[int, int]) -> None:
        assert which == resource.RLIMIT_NOFILE
        if limits[0] > self.granted:
            raise ValueError("current limit exceeds maximum limit")
        self.limits = limits


@pytest.mark.parametrize(
    ("system", "wanted", "then"),
    [
        (System(1024, 20_000), 4352, (4352, 20_000)),
        (System(1024, 2000), 4352, (2000, 2000)),
        (System(8000, 20_000), 4352, (8000, 20_000)),
        (System(256, resource.RLIM_INFINITY), 4352, (4352, resource.RLIM_INFINITY)),
        (System(256, resource.RLIM_INFINITY, granted=1000), 4352, (256, resource.RLIM_INFINITY)),
    ],
    ids=["more", "hard limit", "enough", "no hard limit", "refused"],
)
def test_as_many_files_are_allowed_as_are_wanted_and_granted(
    monkeypatch: pytest.MonkeyPatch, system: System, wanted: int, then: tuple[int, int]
) -> None:
    monkeypatch.setattr(resource, "getrlimit", system.getrlimit)
    monkeypatch.setattr(resource, "setrlimit", system.setrlimit)
    assert allow_open_files(wanted) == then[0]
    assert system.limits == then


def test_no_limit_is_more_than_any_number(monkeypatch: pytest.MonkeyPatch) -> None:
    system = System(resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    monkeypatch.setattr(resource, "getrlimit", system.getrlimit)
    assert min(open_files()) > 10**9
    assert allow_open_files(10**9) == open_files().now
