"""Ctrl-C and SIGTERM, each in a process of its own."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROGRAM = """
import sys, threading, pathlib
from server.interruption import Interruption
stops, folder = sys.argv[1] == "stops", pathlib.Path(sys.argv[2])
ended = threading.Event()
(folder / "partial").touch()
with Interruption((folder / "partial").unlink, grace_s=float(sys.argv[3])) as interruption:
    if sys.argv[1] != "early":
        interruption.watch(ended.set if stops else lambda: None)
    print("ready", flush=True)
    (ended if stops else threading.Event()).wait()
    print("cancelled", interruption.is_cancelled, flush=True)
sys.exit(130)
"""


def start(mode: str, folder: Path, grace_s: float) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, mode, str(folder), str(grace_s)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_first_signal_cancels_and_the_run_ends_by_itself(tmp_path: Path, number: signal.Signals) -> None:
    process = start("stops", tmp_path, 60)
    process.send_signal(number)
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (130, "cancelled True\n", "\nCancelling; again to leave at once.\n")
    assert (tmp_path / "partial").exists()


def test_a_second_signal_leaves_at_once_and_removes_what_was_written(tmp_path: Path) -> None:
    process = start("hangs", tmp_path, 60)
    process.send_signal(signal.SIGINT)
    assert process.stderr is not None
    assert [process.stderr.readline(), process.stderr.readline()] == ["\n", "Cancelling; again to leave at once.\n"]
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=20) == 130
    assert not (tmp_path / "partial").exists()


def test_a_run_that_does_not_stop_is_left_after_the_grace_time(tmp_path: Path) -> None:
    process = start("hangs", tmp_path, 0.2)
    sent = time.monotonic()
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=20) == 130
    assert time.monotonic() - sent >= 0.2
    assert not (tmp_path / "partial").exists()


def test_a_signal_before_the_run_starts_ends_the_program(tmp_path: Path) -> None:
    process = start("early", tmp_path, 60)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=20)
    assert err.endswith("KeyboardInterrupt\n")


def test_ctrl_c_while_modules_are_loaded_gives_130_without_a_traceback(tmp_path: Path) -> None:
    """A module that the command line imports raises the signal, at a moment when no command has begun."""
    (tmp_path / "typer.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    root = Path(__file__).parents[2]
    program = f"import sys; sys.path[:0] = [{str(tmp_path)!r}, {str(root)!r}]\nfrom server.start import main; main()"
    done = subprocess.run([sys.executable, "-c", program, "run", "x.json"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")
