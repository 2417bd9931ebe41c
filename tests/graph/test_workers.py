"""One contract, two kinds of worker: whatever holds for a thread holds for a process."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from graph.blob import digest_of
from graph.context import Preview
from graph.engine import Engine
from graph.errors import Cancelled
from graph.owner import Owner
from graph.processes import Channel, Courier, ProcessWorker, Spool
from graph.store import Store
from graph.types import encode
from graph.workers import (
    InputChanged,
    RemoteFailure,
    Request,
    Result,
    ThreadWorker,
    Value,
    Worker,
    WorkerLost,
    failure_of,
)
from tests.graph.engine_kit import PATIENCE, Settings, Tensor, n, workflow
from tests.graph.worker_nodes import REGISTRY, Counting


class Listener:
    """A report that writes down what it hears; cancels at the step it is told to."""

    def __init__(self, cancel_at: int | None = None) -> None:
        self.steps: list[tuple[int, int]] = []
        self.notes: list[str] = []
        self.pictures: list[bytes] = []
        self.watches = False
        self._cancel_at = cancel_at

    def cancelled(self) -> bool:
        return self._cancel_at is not None and len(self.steps) >= self._cancel_at

    def watched(self) -> bool:
        return self.watches

    def progress(self, step: int, total: int, preview: Preview | None) -> None:
        self.steps.append((step, total))
        if preview is not None and self.watches:
            self.pictures.append(preview())

    def note(self, message: str) -> None:
        self.notes.append(message)


class Bench:
    """A worker under test."""

    def __init__(self, worker: Worker, home: Path) -> None:
        self.worker, self.home = worker, home

    def call(self, type: str, report: Listener | None = None, **inputs: Any) -> Result:
        request = Request(
            REGISTRY.specs[type],
            inputs,
            "the_node",
            3,
            self.home,
            self.home / "out",
            lambda: {"seeds": {"a": 1}, "n": [1.5, None]},
        )
        return self.worker.run(request, report or Listener())

    def value(self, type: str, report: Listener | None = None, **inputs: Any) -> Any:
        (value,) = self.call(type, report, **inputs).values
        return value.get(REGISTRY.wire_types)


@pytest.fixture(params=["thread", "process"], scope="module")
def bench(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """One worker for all tests of the contract: a call must leave nothing behind that the next one feels."""
    home = tmp_path_factory.mktemp("bench")
    if request.param == "thread":
        worker: Worker = ThreadWorker("cpu:1", REGISTRY, lambda: Counting(home))
    else:
        worker = process_worker(home)
    yield Bench(worker, home)
    worker.close()


def process_worker(home: Path, setup: str = "tests.graph.worker_nodes:setup") -> ProcessWorker:
    courier = Courier(Spool.under(home / "spool"), Store(home / "memo", 2**30))
    return ProcessWorker("cpu:1", 1, 2**30, setup, home, courier)


@pytest.fixture
def process(home: Path) -> Iterator[Bench]:
    home.mkdir(exist_ok=True)
    worker = process_worker(home)
    yield Bench(worker, home)
    worker.close()


def given(value: Any) -> Value:
    """A value as an upstream node would give it."""
    return Value(digest_of(encode(value)), object=value)


def test_a_result_comes_back_with_its_digest_and_seconds(bench: Bench) -> None:
    result = bench.call("add", a=1.5, b=2.0)
    (value,) = result.values
    assert value.get(REGISTRY.wire_types) == 3.5
    assert value.digest == digest_of(encode(3.5))
    assert 0 <= result.seconds < PATIENCE


def test_several_results_come_back_in_order(bench: Bench) -> None:
    whole, rest = bench.call("split", a=2.25).values
    assert (whole.get({}), rest.get({})) == (2.0, 0.25)


def test_an_effect_without_outputs_gives_none(bench: Bench) -> None:
    assert bench.call("save", value=1.0).values == ()


def test_values_literals_records_lists_and_missing_ones_arrive_as_they_are(bench: Bench) -> None:
    settings = Settings("x", (1, 2))
    assert (
        bench.value("kind", a=given(1.5), b=[given(2.5), 3.5], c=settings, d=None)
        == "1.5 [2.5, 3.5] Settings(name='x', sizes=(1, 2)) None"
    )
    assert bench.value("kind", a=1.5, b=[], c=given(settings)) == "1.5 [] Settings(name='x', sizes=(1, 2)) None"


def test_an_int_that_enters_a_float_port_is_a_float(bench: Bench) -> None:
    assert bench.value("kind", a=given(1), b=[given(2), 3.0]) == "1.0 [2.0, 3.0] None None"


def test_a_file_literal_arrives(bench: Bench) -> None:
    assert bench.value("look", file={"file": "a.png", "sha256": "00"}) == "{'file': 'a.png', 'sha256': '00'}"


@pytest.mark.parametrize("size", [1, 1000, 3_000_000])
def test_a_tensor_goes_in_and_out(bench: Bench, size: int) -> None:
    result = bench.call("brighten", tensor=given(Tensor.of(7, size)), by=2)
    (value,) = result.values
    assert value.digest == digest_of(encode(Tensor.of(9, size)))
    assert value.get(REGISTRY.wire_types).data == bytes([9]) * size


def test_a_long_text_goes_in_and_out(bench: Bench) -> None:
    text = "ä word " * 20_000
    assert bench.value("long_text", text=given(text), times=3) == text * 3


def test_many_values_at_once_go_in(bench: Bench) -> None:
    assert bench.value("total", values=[given(float(at)) for at in range(1000)]) == sum(range(1000))


def test_the_node_knows_where_it_is(bench: Bench) -> None:
    said = bench.value("where").split()
    assert said[:5] == ["cpu:1", "the_node", "3", str(bench.home), str(bench.home / "out")]
    assert (said[5] == str(os.getpid())) == isinstance(bench.worker, ThreadWorker)


def test_an_effect_gets_the_record_of_the_run(bench: Bench) -> None:
    assert bench.value("record_of_the_run") == "{'seeds': {'a': 1}, 'n': [1.5, None]}"


def test_progress_and_notes_are_heard_in_order(bench: Bench) -> None:
    listener = Listener()
    bench.call("steps", listener, count=5, note="five")
    assert listener.steps == [(step, 5) for step in range(1, 6)]
    assert listener.notes == ["five"]


def test_pictures_are_made_for_those_who_look(bench: Bench) -> None:
    listener = Listener()
    bench.call("steps", listener, count=3)
    assert listener.pictures == []
    listener.watches = True
    bench.call("steps", listener, count=3)
    assert listener.pictures[0] == b"picture 1"
    listener.watches = False
    made = len(listener.pictures)
    bench.call("steps", listener, count=3)
    assert len(listener.pictures) == made


def test_a_look_that_begins_during_a_call_is_served(bench: Bench) -> None:
    class Late(Listener):
        def progress(self, step: int, total: int, preview: Preview | None) -> None:
            super().progress(step, total, preview)
            self.watches = True

        def cancelled(self) -> bool:
            return bool(self.pictures)

    listener = Late()
    with pytest.raises(Cancelled):
        bench.call("endless", listener)
    assert listener.pictures[0] == b"endless"


def test_a_failure_says_its_type_its_message_and_where_it_was_raised(bench: Bench) -> None:
    with pytest.raises(Exception, match="the reason") as caught:
        bench.call("throw", kind="value")
    name, message, trace = failure_of(caught.value)
    assert (name, message) == ("ValueError", "the reason")
    assert "in throw\n" in trace
    assert trace.endswith("\nValueError")
    assert bench.value("add", a=1.0, b=0.0) == 1.0


@pytest.mark.parametrize("kind", ["exit", "interrupt"])
def test_a_node_that_wants_to_end_the_process_fails_like_any_other(bench: Bench, kind: str) -> None:
    before = bench.value("where")
    with pytest.raises(BaseException, match="the reason") as caught:
        bench.call("throw", kind=kind)
    assert failure_of(caught.value)[0] == {"exit": "SystemExit", "interrupt": "KeyboardInterrupt"}[kind]
    assert bench.value("where") == before  # the same process, with its models


@pytest.mark.proves(12)
def test_cancel_is_seen_at_the_next_step_and_the_worker_lives_on(bench: Bench) -> None:
    listener = Listener(cancel_at=3)
    with pytest.raises(Cancelled):
        bench.call("endless", listener)
    assert 3 <= len(listener.steps) < 1000
    assert bench.value("steps", Listener(), count=2) == 2


def test_a_cancel_of_one_call_is_not_one_of_the_next(bench: Bench) -> None:
    for _ in range(3):
        with pytest.raises(Cancelled):
            bench.call("endless", Listener(cancel_at=1))
        assert bench.value("steps", count=50) == 50


def test_a_changed_input_is_a_failure_with_advice(bench: Bench) -> None:
    value = given(Tensor.of(3, 100))
    with pytest.raises(Exception, match="the_node \\(scribble\\) changed its input tensor in place") as caught:
        bench.call("scribble", tensor=value)
    assert failure_of(caught.value)[0] == "InputChanged"
    if isinstance(bench.worker, ThreadWorker):
        assert isinstance(caught.value, InputChanged)
        assert caught.value.digests == {value.digest}
    else:
        assert value.get(REGISTRY.wire_types).data == bytes([3]) * 100  # ours is another memory


def test_a_result_that_cannot_travel_is_a_failure(bench: Bench) -> None:
    with pytest.raises(Exception, match="a builtins.object cannot travel on a wire; declare it"):
        bench.call("odd_result")
    assert bench.value("add", a=1.0, b=0.0) == 1.0


def test_residency_and_trim(bench: Bench) -> None:
    bench.call("add", a=1.0, b=0.0)
    assert dict(bench.worker.resident()) == {"abc": 1000}
    (bench.home / "trims").unlink(missing_ok=True)
    bench.worker.trim()
    bench.call("add", a=2.0, b=0.0)  # calls are served in order, so the trim came before
    assert (bench.home / "trims").read_text() == "x"


def test_closing_is_possible_at_any_time_and_twice(bench: Bench) -> None:
    bench.worker.close()
    bench.worker.close()
    assert bench.value("add", a=1.0, b=0.0) == 1.0  # and it starts anew when it is needed


# ---- what only a process can do ----


@pytest.mark.slow
@pytest.mark.spec("K13")
def test_what_a_call_loaded_is_known_also_if_it_failed_or_was_cancelled(process: Bench) -> None:
    worker = process.worker
    for type, report, error in (("odd_result", None, RemoteFailure), ("endless", Listener(cancel_at=1), Cancelled)):
        with pytest.raises(error):
            process.call(type, report)
        assert dict(worker.resident()) == {"abc": 1000}
        worker.replace()
        assert dict(worker.resident()) == {}


@pytest.mark.slow
@pytest.mark.parametrize(("how", "said"), [("exit", "exit code 3"), ("kill", "killed by signal 9")])
def test_a_death_is_told_and_the_next_call_has_a_fresh_child(process: Bench, how: str, said: str) -> None:
    before = process.value("where")
    with pytest.raises(WorkerLost) as caught:
        process.call("die", how=how)
    assert str(caught.value) == (
        f"the worker of cpu:1 died while it ran the_node ({said}); other devices go on, and the next task starts it anew"
    )
    assert dict(process.worker.resident()) == {}
    after = process.value("where")
    assert after.split()[:5] == before.split()[:5]
    assert after.split()[5] != before.split()[5]


@pytest.mark.slow
@pytest.mark.spec("R-G08")
@pytest.mark.proves(10)
def test_a_child_killed_between_two_calls_is_noticed_at_once_and_replaced(process: Bench) -> None:
    noticed: SimpleQueue[WorkerLost] = SimpleQueue()
    worker = process.worker
    assert isinstance(worker, ProcessWorker)
    worker.on_idle_death = noticed.put
    os.kill(int(process.value("where").split()[5]), signal.SIGKILL)
    assert "cpu:1 died while it had nothing to do (killed by signal 9)" in str(noticed.get(timeout=PATIENCE))
    assert dict(worker.resident()) == {}
    assert worker.pid is None
    assert process.value("add", a=1.0, b=0.0) == 1.0
    assert worker.begun == 2


@pytest.mark.slow
def test_a_child_that_cannot_set_itself_up_says_why(home: Path) -> None:
    home.mkdir()
    worker = process_worker(home, "tests.graph.worker_nodes:broken_setup")
    with pytest.raises(WorkerLost, match="while it started: RuntimeError: the driver is too old"):
        Bench(worker, home).call("add", a=1.0, b=0.0)
    worker.close()


@pytest.mark.slow
@pytest.mark.spec("R-G07")
def test_what_a_node_imports_may_take_longer_than_a_heartbeat(home: Path) -> None:
    home.mkdir()
    worker = process_worker(home, "tests.graph.worker_nodes:importing_setup")
    worker.heartbeat_s = 0.6
    assert Bench(worker, home).value("add", a=1.0, b=2.0) == 3.0
    assert worker.begun == 1
    worker.close()


def test_close_ends_the_child(process: Bench) -> None:
    pid = int(process.value("where").split()[5])
    process.worker.close()
    assert not Path(f"/proc/{pid}").exists()


def test_a_child_ends_when_its_parent_is_gone(process: Bench) -> None:
    pid = int(process.value("where").split()[5])
    worker = process.worker
    assert isinstance(worker, ProcessWorker)
    child = worker._child
    assert child is not None
    child.channel._stream.shutdown(socket.SHUT_RDWR)  # what the kernel does when the parent dies
    assert child.process.wait(PATIENCE) == 1
    assert not Path(f"/proc/{pid}").exists()


def test_a_tensor_crosses_as_a_file_of_the_spool_and_not_in_a_frame(process: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[int] = []
    send = Channel.send

    def counting(self: Channel, *message: Any) -> None:
        sent.append(len(repr(message)))
        send(self, *message)

    monkeypatch.setattr(Channel, "send", counting)
    tensor = given(Tensor.of(1, 1_000_000))
    result = process.call("brighten", tensor=tensor, by=1)
    assert max(sent) < 2000
    assert len(list((process.home / "spool").rglob("*.safetensors"))) == 2
    assert not list((process.home / "memo" / "objects").rglob("*.safetensors"))
    del result, tensor
    assert not list((process.home / "spool").rglob("*.safetensors"))


def test_what_a_call_left_behind_is_never_taken_for_the_next_calls_result(process: Bench) -> None:
    class Raising(Listener):
        def progress(self, step: int, total: int, preview: Preview | None) -> None:
            raise RuntimeError("the listener broke")

    with pytest.raises(RuntimeError, match="the listener broke"):
        process.call("steps", Raising(), count=1000)
    assert process.value("add", a=2.0, b=3.0) == 5.0
    assert process.value("add", a=1.0, b=3.0) == 4.0


def test_a_child_ends_at_once_when_its_parent_is_gone_in_a_call(process: Bench) -> None:
    class Gone(Listener):
        def progress(self, step: int, total: int, preview: Preview | None) -> None:
            super().progress(step, total, preview)
            worker = process.worker
            assert isinstance(worker, ProcessWorker)
            assert worker._child is not None
            worker._child.channel._stream.shutdown(socket.SHUT_RDWR)

    with pytest.raises(WorkerLost, match=r"died while it ran the_node \(exit code 1\)"):
        process.call("endless", Gone())


def test_a_spool_of_a_dead_owner_is_removed(tmp_path: Path) -> None:
    dead = tmp_path / "spool" / f"{str(Owner.current()).replace(str(os.getpid()), '999999999')}.0000"
    dead.mkdir(parents=True)
    mine = Spool.under(tmp_path / "spool")
    other = Spool.under(tmp_path / "spool")
    assert sorted((tmp_path / "spool").iterdir()) == sorted([mine.folder, other.folder])


def test_a_frame_that_is_no_frame_of_ours_ends_the_channel() -> None:

    ours, theirs = socket.socketpair()
    channel = Channel(ours)
    theirs.sendall(b"\xff\xff\xff\xff")
    with pytest.raises(EOFError, match="is not ours"):
        channel.receive()
    theirs.close()
    channel.close()


@pytest.mark.slow
def test_a_run_on_two_processes_gives_what_one_thread_gives(home: Path) -> None:
    """Also: they are two processes, a node that kills one fails alone, and the engine's end ends both."""

    text = workflow(
        ["x", "y", "s", "d"],
        a=n("add", a=1.0),
        x=n("device_add", a="@a", b=2.0),
        y=n("device_add", a="@x", b=3.0),
        t=n("make_tensor", fill=1),
        s=n("tensor_sum", tensor="@t.tensor"),
        d=n("device_add", a="@s"),
    )
    with Engine(REGISTRY, home / "one") as one:
        expected = one.run(one.load(text))
    two = Engine(REGISTRY, home / "two", devices=("cpu:0", "cpu:1"), setup="tests.graph.worker_nodes:setup")
    with two:
        result = two.run(two.load(text))
        assert result.outputs == expected.outputs == {"x": 3.0, "y": 6.0, "s": 1000, "d": 1000.0}
        assert all(isinstance(worker, ProcessWorker) for worker in two.workers.values())
        pids = [worker.pid for worker in two.workers.values() if isinstance(worker, ProcessWorker) and worker.pid]
    assert pids
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)
    assert not list((home / "two" / "spool").iterdir())


def test_a_cancel_that_comes_after_the_end_hits_nobody(process: Bench) -> None:
    assert process.value("steps", count=2) == 2
    worker = process.worker
    assert isinstance(worker, ProcessWorker)
    assert worker._child is not None
    worker._child.channel.send("cancel", worker._calls)
    assert process.value("steps", count=50) == 50


def test_cancel_reaches_a_child_that_says_nothing(process: Bench) -> None:
    """The flag is forwarded at once, not only when the child tells a step."""
    asked = threading.Event()

    class Late(Listener):
        def cancelled(self) -> bool:
            asked.set()
            return True

    with pytest.raises(Cancelled):
        process.call("endless", Late())
    assert asked.is_set()


def test_remote_failures_are_told_apart_from_our_own() -> None:
    assert failure_of(RemoteFailure("OSError", "gone", "trace")) == ("OSError", "gone", "trace")
