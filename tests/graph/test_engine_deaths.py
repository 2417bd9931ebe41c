"""Worker processes that die, hang or do not come up: who is charged, who is told, and that the rest goes on."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from graph.active import RunResult
from graph.engine import Handle
from graph.events import Event, TriedEvent
from graph.places import pause_seconds
from graph.trials import open_tries
from graph.workers import StartFailed
from tests.graph.engine_kit import PATIENCE, Lab, n, states_of, until, workflow
from tests.graph.worker_nodes import REGISTRY

SETUP = "tests.graph.worker_nodes:setup"
TWO = ("cpu:0", "cpu:1")


@pytest.fixture
def serve(home: Path) -> Iterator[Callable[..., Lab]]:
    """An engine as a server has it: host nodes in worker processes, devices too if there are several."""
    with ExitStack() as stack:

        def lab(**options: Any) -> Lab:
            options = {
                "setup": SETUP,
                "host_workers": 1,
                "most_tries": 3,
                "ledger": home / "tries",
                "devices": ("cpu:0",),
            } | options
            home.mkdir(exist_ok=True)
            return stack.enter_context(Lab(home, REGISTRY, **options))

        yield lab


def ended(handle: Handle, heard: list[Event] | None = None) -> RunResult:
    result = handle.wait(PATIENCE, on_events=(heard if heard is not None else []).extend)
    assert result is not None, "the run did not end"
    return result


def tries_told(events: list[Event]) -> list[int]:
    return [event.tries for event in events if isinstance(event, TriedEvent)]


def there(path: Path) -> int:
    """Wait for a mark; the process number in it."""
    until(lambda: path.exists() and path.read_text() != "")
    return int(path.read_text())


def test_host_nodes_run_in_worker_processes(serve: Callable[..., Lab], home: Path) -> None:
    lab = serve(host_workers=2)
    outcome = lab.run(workflow(["w", "t"], w=n("where"), x=n("make_tensor", fill=2), t=n("tensor_sum", tensor="@x.tensor")))
    device, _, _, _, _, pid = outcome.outputs["w"].split()
    assert device == "cpu"
    assert int(pid) != os.getpid()
    assert outcome.outputs["t"] == 2000
    assert outcome.ran == []
    assert outcome.node("w").device == "host"
    assert [place.name for place in lab.engine.places()] == ["cpu:0", "host:0", "host:1"]


@pytest.mark.slow
@pytest.mark.spec("R-C08")
@pytest.mark.proves(7)
@pytest.mark.parametrize(
    ("how", "said"),
    [("segv", "killed by signal 11"), ("kill", "killed by signal 9"), ("exit0", "exit code 0"), ("exit1", "exit code 1")],
)
def test_a_run_that_kills_its_worker_each_time_is_stopped_after_three_tries(
    serve: Callable[..., Lab], home: Path, how: str, said: str
) -> None:
    lab = serve(host_workers=2)
    other = lab.start(workflow("h", h=n("heed", mark=str(home / "mark"), until=str(home / "go"))), run_id="other")
    there(home / "mark")
    events: list[Event] = []
    poison = lab.start(workflow("d", d=n("die_first", a=1.0, times=9, tally=str(home / "tally"), how=how)), run_id="poison")
    result = ended(poison, events)
    assert states_of(result) == {"d": "failed"}
    (node,) = result.nodes
    assert node.code == "worker_lost"
    places = {f"{said} on host:0", f"{said} on host:1"}
    assert node.error.startswith("d (die_first) failed: 3 worker processes in a row died under this run (")
    assert set(node.error.partition("(die_first) failed")[2].partition("(")[2].partition("), so")[0].split("; ")) <= places
    assert (home / "tally").read_text() == "xxx"
    assert tries_told(events) == [1, 2, 3]
    (home / "go").touch()
    others: list[Event] = []
    assert ended(other, others).state == "done"
    assert tries_told(others) == []
    assert open_tries(home / "tries") == []


@pytest.mark.slow
def test_a_kept_result_sets_the_tries_back(serve: Callable[..., Lab], home: Path) -> None:
    """What processes died under is kept however quick it was."""
    text = workflow(
        "y",
        x=n("die_first", a=1.0, times=2, tally=str(home / "first")),
        y=n("die_first", a="@x", times=2, tally=str(home / "second")),
    )
    events: list[Event] = []
    result = ended(serve().start(text), events)
    assert result.state == "done"
    assert tries_told(events) == [1, 2, 0, 1, 2, 0]
    assert [(home / name).read_text() for name in ("first", "second")] == ["xxx", "xxx"]


@pytest.mark.slow
def test_tries_of_former_engines_count(serve: Callable[..., Lab], home: Path) -> None:
    events: list[Event] = []
    handle = serve().start(workflow("d", d=n("die_first", a=1.0, times=9, tally=str(home / "tally"))), run_id="a", tries=2)
    assert ended(handle, events).nodes[0].code == "worker_lost"
    assert tries_told(events) == [3]
    assert (home / "tally").read_text() == "x"


@pytest.mark.slow
def test_who_tries_once_fails_at_the_first_death(serve: Callable[..., Lab], home: Path) -> None:
    """As the command line does: its user sees what happened, and starts again."""
    handle = serve(most_tries=1).start(workflow("d", d=n("die_first", a=1.0, times=9, tally=str(home / "tally"))))
    (node,) = ended(handle).nodes
    assert node.error.startswith(
        "d (die_first) failed: WorkerLost: the worker of host:0 died while it ran d (killed by signal 9)"
    )
    assert (home / "tally").read_text() == "x"


@pytest.mark.slow
@pytest.mark.spec("R-C08")
def test_runs_that_share_the_work_are_charged_alike(serve: Callable[..., Lab], home: Path) -> None:
    lab = serve(host_workers=2)
    text = workflow("h", h=n("heed", mark=str(home / "mark"), until=str(home / "go"), a=1.0))
    heard: tuple[list[Event], list[Event]] = ([], [])
    handles = [lab.start(text, run_id=name) for name in ("one", "two")]
    pid = there(home / "mark")
    until(lambda: len(open_tries(home / "tries")) == 2)
    assert {(one.run, one.tries, one.node) for one in open_tries(home / "tries")} == {("one", 0, "h"), ("two", 0, "h")}
    os.kill(pid, signal.SIGKILL)
    until(lambda: {one.tries for one in open_tries(home / "tries")} == {1})
    (home / "go").touch()
    assert [ended(handle, events).state for handle, events in zip(handles, heard, strict=True)] == ["done", "done"]
    assert [tries_told(events)[0] for events in heard] == [1, 1]


@pytest.mark.slow
@pytest.mark.spec("R-C08")
def test_a_death_is_not_charged_to_runs_that_wait(serve: Callable[..., Lab], home: Path) -> None:
    """One lane: the other run waits for it all the while, and is done in the end."""
    lab = serve()
    poison = lab.start(workflow("d", d=n("die_first", a=1.0, times=9, tally=str(home / "tally"))), run_id="poison")
    other = lab.start(workflow("x", x=n("linger", a=1.0)), run_id="other")
    events: list[Event] = []
    assert ended(other, events).state == "done"
    assert tries_told(events) == []
    assert ended(poison).state == "failed"


# ---- hung ----


@pytest.mark.slow
@pytest.mark.spec("R-G07")
@pytest.mark.proves(10)
@pytest.mark.parametrize("how", ["lock", "stop"])
def test_a_silent_worker_is_ended_and_other_places_go_on(serve: Callable[..., Lab], home: Path, how: str) -> None:
    lab = serve(host_workers=2, heartbeat_s=1.0)
    handle = lab.start(workflow("h", h=n("hang", how=how, mark=str(home / "mark"))), tries=2)
    pid = there(home / "mark")
    assert lab.run(workflow("x", x=n("add", a=1.0, b=2.0))).output == 3.0
    (node,) = ended(handle).nodes
    assert node.code == "worker_lost"
    assert "it was silent for 1 s, so it was ended on host:" in node.error
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.slow
@pytest.mark.spec("R-G07")
def test_a_silent_worker_that_has_nothing_to_do_is_ended_too(serve: Callable[..., Lab]) -> None:
    lab = serve(heartbeat_s=0.6)
    pid = int(lab.run(workflow("w", w=n("where"))).output.split()[5])
    os.kill(pid, signal.SIGSTOP)
    until(lambda: lab.engine.places()[1].restarts == 1)
    assert "it was silent for 0.6 s" in lab.engine.places()[1].message
    assert not Path(f"/proc/{pid}").exists()


@pytest.mark.slow
@pytest.mark.spec("R-G07")
@pytest.mark.parametrize("type", ["hang", "heed"])
def test_a_node_over_its_time_limit_fails_and_is_not_tried_again(serve: Callable[..., Lab], home: Path, type: str) -> None:
    lab = serve(time_limits={type: 0.2}, cancel_grace_s=0.2)
    own = {"how": "loop"} if type == "hang" else {"until": str(home / "never")}
    events: list[Event] = []
    handle = lab.start(workflow("h", h=n(type, mark=str(home / "mark"), **own), y=n("add", a="@h")), run_id="a")
    result = ended(handle, events)
    assert result.state == "failed"
    (node,) = result.nodes
    assert node.code == "timed_out"
    assert node.error == (
        f"h ({type}) was stopped: it ran for longer than 0.2 s, the time limit of its type. "
        f'If it needs longer, write "{type}" = SECONDS under [time_limits_s] in settings.toml.'
    )
    assert tries_told(events) == []
    assert Path(f"/proc/{there(home / 'mark')}").exists() == (type == "heed")  # one that listens keeps its process
    assert lab.run(workflow("x", x=n("add", a=1.0))).state == "done"


@pytest.mark.slow
@pytest.mark.spec("R-G06")
@pytest.mark.proves(12)
def test_a_cancelled_node_that_does_not_listen_is_ended_with_its_process(serve: Callable[..., Lab], home: Path) -> None:
    lab = serve(host_workers=2, cancel_grace_s=0.2)
    other = lab.start(workflow("o", o=n("heed", mark=str(home / "other"), until=str(home / "go"))), run_id="other")
    there(home / "other")
    handle = lab.start(workflow("y", h=n("hang", how="loop", mark=str(home / "mark")), y=n("add", a="@h")), run_id="a")
    pid = there(home / "mark")
    handle.cancel()
    events: list[Event] = []
    result = ended(handle, events)
    assert states_of(result) == {"h": "cancelled", "y": "cancelled"}
    assert tries_told(events) == []
    assert not Path(f"/proc/{pid}").exists()
    (home / "go").touch()
    assert ended(other).state == "done"
    assert open_tries(home / "tries") == []


@pytest.mark.slow
def test_a_run_is_cancelled_while_its_worker_starts(serve: Callable[..., Lab], home: Path) -> None:
    lab = serve(setup="tests.graph.worker_nodes:slow_setup")
    handle = lab.start(workflow("w", w=n("where")))
    until((home / "starting").exists)
    assert [place.state for place in lab.engine.places()] == ["idle", "starting"]
    handle.cancel()
    assert ended(handle).state == "cancelled"
    (home / "go").touch()
    assert lab.run(workflow("w", w=n("where"))).state == "done"
    assert lab.engine.places()[1].restarts == 0


# ---- places ----


@pytest.mark.spec("R-G08")
def test_restarts_are_further_and_further_apart() -> None:
    assert [pause_seconds(deaths) for deaths in range(1, 10)] == [0, 1, 2, 4, 8, 16, 30, 30, 30]


class Clock:
    """The executor's time, moved by the test."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.slow
@pytest.mark.spec("R-G08")
@pytest.mark.proves(10)
def test_a_device_that_never_comes_up_is_disabled_and_the_other_does_the_work(serve: Callable[..., Lab], home: Path) -> None:
    clock = Clock()
    lab = serve(devices=TWO, setup="tests.graph.worker_nodes:setup_broken_on_first", lane_clock=clock)
    lane = lab.engine.executor.lanes[0]
    pinned = lab.start(workflow("w", w=n("device_where", device="cpu:0")))
    for deaths in range(2, 5):
        until(lambda: lane.failed_starts == deaths)
        assert lab.run(workflow("w", w=n("device_where", a=float(deaths)))).output.startswith("cpu:1 ")
        pass_to(lab, clock, lane.available_at)
    assert "w (device_where) cannot run: cpu:0 is disabled" in ended(pinned).nodes[0].error
    assert lab.engine.places()[0].state == "disabled"
    assert lab.run(workflow("w", w=n("device_where", a=9.0))).output.startswith("cpu:1 ")
    assert (home / "starts").read_text().count("cpu:0") == 5


def pass_to(lab: Lab, clock: Clock, now: float) -> None:
    """Let it be `now` for the lanes."""
    executor = lab.engine.executor
    with executor._away:
        clock.now = now
        executor._away.notify_all()


@pytest.mark.slow
@pytest.mark.spec("R-G08")
def test_without_any_device_left_a_task_fails_with_the_reason(serve: Callable[..., Lab], home: Path) -> None:
    clock = Clock()
    lab = serve(workers="process", setup="tests.graph.worker_nodes:setup_broken_on_first", lane_clock=clock)
    lane = lab.engine.executor.lanes[0]
    text = workflow(["w", "x"], w=n("device_where"), x=n("add", a=1.0))
    handle = lab.start(text)
    for deaths in range(2, 5):
        until(lambda: lane.failed_starts == deaths)
        assert lab.engine.places()[0].state == "waiting"
        assert lane.available_at == clock.now + pause_seconds(deaths)
        pass_to(lab, clock, lane.available_at)
    result = ended(handle)
    assert states_of(result) == {"w": "failed", "x": "done"}
    failed = next(node for node in result.nodes if node.id == "w")
    assert failed.code == "worker_lost"
    assert failed.error.startswith(
        "w (device_where) cannot run: cpu:0 is disabled: the worker of cpu:0 died while it started (exit code 7)"
    )
    place = lab.engine.places()[0]
    assert (place.name, place.state, place.restarts) == ("cpu:0", "disabled", 5)
    assert states_of(ended(lab.start(text)))["w"] == "failed"
    (home / "mended").touch()
    lab.engine.enable("cpu:0")
    assert ended(lab.start(text)).state == "done"
    assert lab.engine.places()[0].state == "idle"


def test_a_run_cancelled_while_its_worker_dies_at_start_is_told_whole(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Lab(home, REGISTRY) as lab:
        handles: list[Handle] = []
        begun = threading.Event()

        def start(cancelled: Callable[[], bool]) -> None:
            assert begun.wait(PATIENCE)
            handles[0].cancel()
            raise StartFailed("it did not come up")

        monkeypatch.setattr(lab.engine.workers["cpu"], "start", start)
        handles.append(lab.start(workflow("y", w=n("device_where"), y=n("show", value="@w"))))
        begun.set()
        assert states_of(ended(handles[0])) == {"w": "cancelled", "y": "cancelled"}


def test_an_unknown_place_cannot_be_enabled(serve: Callable[..., Lab]) -> None:
    with pytest.raises(ValueError, match="there is no place cuda:7; the places are cpu:0, host:0"):
        serve().engine.enable("cuda:7")


@pytest.mark.slow
def test_a_place_says_what_it_is_at(serve: Callable[..., Lab], home: Path) -> None:
    lab = serve()
    handle = lab.start(workflow("h", h=n("heed", mark=str(home / "mark"), until=str(home / "go"))), run_id="the run")
    there(home / "mark")
    place = lab.engine.places()[1]
    assert (place.name, place.state, place.run, place.node) == ("host:0", "busy", "the run", "h")
    assert 0 <= place.progress_age_s < PATIENCE
    (home / "go").touch()
    ended(handle)
    until(lambda: lab.engine.places()[1].state == "idle")


@pytest.mark.slow
@pytest.mark.spec("R-G05")
@pytest.mark.parametrize(("times", "state"), [(1, "done"), (9, "failed")])
def test_a_faulty_device_gets_a_new_process_and_the_task_one_more_try(
    serve: Callable[..., Lab], home: Path, times: int, state: str
) -> None:
    lab = serve(workers="process")
    before = lab.run(workflow("w", w=n("device_where"))).output.split()[1]
    outcome = lab.run(workflow("f", f=n("device_fault", times=times, tally=str(home / "tally"))))
    assert outcome.state == state
    first, second = (home / "tally").read_text().split()
    assert before == first != second
    after = lab.run(workflow("w", w=n("device_where", a=2.0))).output.split()[1]
    assert (after == second) == (state == "done")
    assert tries_told(outcome.events) == []


# ---- what a worker says ----

BABBLE = {
    "giant": "a frame of 4,294,967,295 bytes is not ours",
    "extension": "extension type 5 is not ours",
    "no list": "a frame that names no kind of message is not ours",
    "no msgpack": "a frame that cannot be read is not ours",
    "pickle": "is not ours",
    "other call": "it spoke of call 99 during call 2",
    "no call": "it spoke of call None",
    "unknown kind": "it said 'exec' in a way that is not ours",
    "odd fields": "it said 'done' in a way that is not ours",
    "foreign file": "it handed over a value in a way that is not ours",
}


@pytest.mark.slow
@pytest.mark.spec("R-I12")
def test_a_worker_that_says_what_is_not_ours_is_ended_and_replaced(serve: Callable[..., Lab]) -> None:
    lab = serve(most_tries=2)
    for at, (what, said) in enumerate(BABBLE.items()):
        events: list[Event] = []
        result = ended(lab.start(workflow("b", b=n("babble", what=what)), tries=1), events)
        assert result.nodes[0].code == "worker_lost", what
        assert said in result.nodes[0].error, what
        assert tries_told(events) == [2]
        assert lab.run(workflow("x", x=n("add", a=1.0, b=float(at)))).output == 1.0 + at, what
    assert lab.engine.places()[1].restarts == len(BABBLE)


@pytest.mark.slow
@pytest.mark.spec("R-I12")
def test_a_frame_that_is_cut_off_is_a_death(serve: Callable[..., Lab]) -> None:
    lab = serve(most_tries=1)
    (node,) = ended(lab.start(workflow("c", c=n("cut_off")))).nodes
    assert "died while it ran c (exit code 0)" in node.error
    assert lab.run(workflow("x", x=n("add", a=1.0, b=1.0))).output == 2.0
