"""What a run shows: rows, lines without a terminal, previews, and the closing table."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from graph.events import CachedEvent, NodeEvent, PreviewEvent, ProgressEvent
from server import display as module_under_test
from server.display import ResultRow, RunDisplay, closing_table
from server.text import columns, seconds_text, size_text


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


STEP = ProgressEvent("denoise", None, 3, 10, 2.5, 1.0)
RUNNING = NodeEvent("denoise", None, "running", 0.0, "cpu")


def test_a_terminal_shows_step_time_left_and_the_previews_path(tmp_path: Path) -> None:
    stream = Terminal()
    with RunDisplay(4, tmp_path / "previews", stream) as display:
        display.on_events([CachedEvent(["tokens", "encode"], 0.0), RUNNING, STEP, PreviewEvent("denoise", None, b"webp", 1.0)])
        (preview,) = (tmp_path / "previews").iterdir()
        assert preview.read_bytes() == b"webp"
        rows = [list(map(str, column.cells)) for column in display._table().columns]
    assert rows[0] == ["denoise", "nodes"]
    assert rows[2:] == [["3/10", "0/4"], ["2.5 s left", ""], [str(preview), ""]]


def test_previews_are_removed_at_the_end(tmp_path: Path) -> None:
    folder = tmp_path / "previews"
    with RunDisplay(1, folder, io.StringIO()) as display:
        display.on_events([PreviewEvent("denoise", 2, b"1", 0.0), PreviewEvent("denoise", 2, b"2", 0.1)])
        assert [path.read_bytes() for path in folder.iterdir()] == [b"2"]
    assert list(folder.iterdir()) == []


def test_a_preview_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with RunDisplay(1, blocked, io.StringIO()) as display:
        display.on_events([PreviewEvent("denoise", None, b"1", 0.0)])
    assert blocked.read_text() == ""


def test_without_a_terminal_a_line_is_written_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(module_under_test.time, "monotonic", lambda: now[0])
    stream = io.StringIO()
    with RunDisplay(4, None, stream) as display:
        display.on_events([RUNNING, STEP])
        now[0] = 6.0
        display.on_events([STEP._replace(step=4)])
        now[0] = 7.0
        display.on_events([STEP._replace(step=5)])
    assert stream.getvalue() == "0 of 4 nodes; denoise 4/10 2.5 s left\n"


def test_many_running_nodes_show_the_first_and_a_count() -> None:
    with RunDisplay(100, None, Terminal()) as display:
        display.on_events([NodeEvent("n", element, "running", 0.0) for element in range(30)])
        names = [str(cell) for cell in display._table().columns[0].cells]
    assert (len(names), names[-2:]) == (14, ["and 18 more", "nodes"])


def test_finished_nodes_leave_the_table() -> None:
    with RunDisplay(2, None, Terminal()) as display:
        display.on_events([RUNNING, STEP, NodeEvent("denoise", None, "done", 3.0, "cpu", 3.0)])
        assert [str(cell) for cell in display._table().columns[0].cells] == ["nodes"]
        assert [str(cell) for cell in display._table().columns[2].cells] == ["1/2"]


ROWS = [
    ResultRow("tokens", None, "cached", 0.0, "", ""),
    ResultRow("denoise", 0, "done", 2.3456, "cpu:0", "computed 17 of 30 steps"),
    ResultRow("save", None, "failed", 0.0, "host", "the disk is full"),
]


def test_the_closing_table_has_times_and_cached_marks() -> None:
    assert closing_table(ROWS, 2.5).splitlines() == [
        "tokens      cached",
        "denoise[0]  done    2.35 s  cpu:0  computed 17 of 30 steps",
        "save        failed          host   the disk is full",
        "3 nodes: 1 cached, 1 done, 1 failed; 2.5 s",
    ]


def test_a_long_table_keeps_failures_and_the_longest_in_order() -> None:
    rows = [ResultRow(f"n{index}", None, "done", index / 1000, "cpu", "") for index in range(100)]
    rows[3] = rows[3]._replace(state="failed")
    lines = closing_table(rows, 1.0).splitlines()
    assert lines[0].startswith("n3 ")
    assert lines[1].startswith("n61 ")
    assert lines[-2:] == ["... and 60 more", "100 nodes: 99 done, 1 failed; 1 s"]


def test_control_characters_do_not_reach_the_terminal() -> None:
    assert columns([("a\x1b[2Jb\nc", "d")]) == "a [2Jb c  d"


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0004, "0.4 ms"), (0.012, "12 ms"), (2.312, "2.31 s"), (59.96, "60 s"), (185.0, "3 min 5 s")]
)
def test_durations_read_well(seconds: float, text: str) -> None:
    assert seconds_text(seconds) == text


@pytest.mark.parametrize(("size", "text"), [(512, "512 B"), (1536, "1.5 KiB"), (300 * 2**20, "300 MiB"), (2**41, "2.0 TiB")])
def test_sizes_read_well(size: int, text: str) -> None:
    assert size_text(size) == text
