"""What every test shares: one torch thread, a data folder of its own, and no silent skip of a missing tool in CI."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose program is missing, but fail it where CI is set: there nothing may go unchecked."""
    for marker in item.iter_markers("tool"):
        missing = [name for name in marker.args if shutil.which(name) is None]
        if missing and os.environ.get("CI"):
            pytest.fail(f"{', '.join(missing)} is not installed, and CI may not skip {item.nodeid}", pytrace=False)
        if missing:
            pytest.skip(f"needs {', '.join(missing)}")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder of this test, empty; `LATENTGRAPH_HOME` points at it."""
    folder = tmp_path / "home"
    monkeypatch.setenv("LATENTGRAPH_HOME", str(folder))
    return folder
