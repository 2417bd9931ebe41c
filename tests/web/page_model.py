"""The page's model (web/src/model), asked through node: see web/scripts/model.mjs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

WEB = Path(__file__).parents[2] / "web"


def ask_page(questions: Mapping[str, Any]) -> dict[str, Any]:  # Any: JSON
    """The answers of the page's model. Skips the test where node or web/node_modules is missing; under CI that fails."""
    missing = "node" if shutil.which("node") is None else "web/node_modules" if not (WEB / "node_modules").is_dir() else None
    if missing is not None:
        reason = f"{missing} is missing; install Node 20 and run npm ci in web/"
        if os.environ.get("CI"):
            pytest.fail(reason)
        pytest.skip(reason)
    asked = subprocess.run(
        ["node", "scripts/model.mjs"],
        cwd=WEB,
        input=json.dumps(questions),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert asked.returncode == 0, asked.stderr
    answers: dict[str, Any] = json.loads(asked.stdout)
    return answers
