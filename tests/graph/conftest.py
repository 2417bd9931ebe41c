"""What the engine's tests get: a clean log of executions, a lab on a fresh home."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.graph import engine_kit
from tests.graph.engine_kit import Lab


@pytest.fixture(autouse=True)
def _clean_log() -> Iterator[None]:
    engine_kit.ran.clear()
    engine_kit.gate.clear()
    engine_kit.started.clear()
    yield
    engine_kit.gate.set()  # lets a node of a failed test go


@pytest.fixture
def open_lab(home: Path) -> Iterator[Callable[..., Lab]]:
    """Opens labs on this test's home; a second one is what a later process sees. Closed at the end."""
    with ExitStack() as stack:
        yield lambda *args, **options: stack.enter_context(Lab(home, *args, **options))


@pytest.fixture
def lab(open_lab: Callable[..., Lab]) -> Lab:
    return open_lab()
