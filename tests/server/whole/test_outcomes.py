"""What becomes of a job, and of the jobs beside it, when memory, a process, the disk or the clock fails (Must show 6)."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import pytest

from tests.rig.serving import PATIENCE_S, ROOT, Server, chain, is_alive, n, running, until, workflow
from tests.server.whole.conftest import MakeServer


def single(type: str, **inputs: object) -> dict[str, object]:
    return workflow({"out": "node.value"}, node=n(type, **inputs))


@pytest.mark.slow
@pytest.mark.spec("R-G02")
@pytest.mark.proves(8)
@pytest.mark.parametrize("shape", ["memory", "cuda", "cublas"])
def test_out_of_memory_fails_one_job_and_the_next_one_succeeds(server: Server, shape: str) -> None:
    bad = server.submit(single("fake/out_of_memory", value=1.0, shape=shape))["id"]
    workers = set(server.worker_pids())
    good = server.submit(chain(2, 5.0, "fake/device_step"))["id"]
    failed = server.ended(bad)
    assert (failed["state"], failed["problem"]["code"], failed["problem"]["node"]) == ("failed", "out_of_memory", "node")
    assert server.ended(good)["outputs"] == {"last": 7.0}
    assert workers <= set(server.worker_pids())


@pytest.mark.slow
@pytest.mark.spec("R-C08")
@pytest.mark.proves(7)
@pytest.mark.parametrize(
    ("type", "how"),
    [("fake/die", "segv"), ("fake/host_die", "kill"), ("fake/host_die", "exit0"), ("fake/host_die", "exit1")],
)
def test_a_job_that_kills_its_worker_is_stopped_after_three_tries(server: Server, type: str, how: str) -> None:
    poison = server.submit(single(type, value=1.0, how=how))["id"]
    beside = "fake/device_step" if type == "fake/die" else "fake/step"
    others = [server.submit(chain(2, float(at), beside))["id"] for at in range(5)]
    failed = server.ended(poison)
    assert (failed["state"], failed["problem"]["code"]) == ("failed", "worker_lost")
    assert len([line for line in server.witnessed() if line[:2] == ["node", "start"]]) == 3
    assert [server.ended(id)["state"] for id in others] == ["done"] * 5
    assert [server.job(id)["tries"] for id in others] == [0] * 5


@pytest.mark.slow
@pytest.mark.spec("R-G07")
def test_an_engine_that_was_stopped_when_its_server_died_is_ended_by_the_next_one(make_server: MakeServer) -> None:
    with running(make_server()) as server:
        engine = server.engine_pid()
        os.kill(engine, signal.SIGSTOP)
        assert server.process is not None
        server.process.kill()
        server.process.wait()
        assert is_alive(engine)
        server.start().ready()
        until(lambda: not is_alive(engine), "the end of the stopped engine")
        assert server.ended(server.submit(chain(2, 5.0, "fake/step"))["id"])["state"] == "done"


@pytest.mark.slow
@pytest.mark.spec("R-O03")
def test_every_end_of_a_job_is_counted_once_and_nothing_else(server: Server) -> None:
    server.ended(server.submit(chain(2, 5.0))["id"])
    server.ended(server.submit(single("fake/fail", value=1.0))["id"])
    server.request("POST", "/v1/queue/pause")
    waiting = [server.submit(chain(2, 5.0))["id"] for _ in range(2)]  # the engine never hears of these
    server.request("POST", f"/v1/jobs/{waiting[0]}/cancel")
    server.ended(waiting[0])
    lines = server.get("/metrics").body.decode().splitlines()
    assert "# HELP latentgraph_jobs_total Jobs that ended, by state." in lines
    assert sorted(line for line in lines if line.startswith("latentgraph_jobs_total{")) == [
        'latentgraph_jobs_total{state="cancelled"} 1.0',
        'latentgraph_jobs_total{state="done"} 1.0',
        'latentgraph_jobs_total{state="failed"} 1.0',
    ]


@pytest.mark.slow
@pytest.mark.spec("R-C08")
def test_the_count_of_tries_goes_on_after_a_restart_of_the_server(make_server: MakeServer) -> None:
    with running(make_server()) as server:
        poison = server.submit(single("fake/host_die", value=1.0, how="segv"))["id"]
        until(lambda: server.job(poison)["tries"] >= 2, "the second death")
        server.kill()
        server.start()
        failed = server.ended(poison)
        assert (failed["state"], failed["problem"]["code"]) == ("failed", "worker_lost")
        assert len([line for line in server.witnessed() if line[:2] == ["node", "start"]]) <= 4


@pytest.mark.slow
@pytest.mark.spec("R-C08")
def test_a_worker_that_dies_twice_is_forgiven_once_the_node_succeeds(server: Server) -> None:
    job = server.ended(server.submit(single("fake/host_die", value=4.0, how="kill", times=2))["id"])
    assert (job["state"], job["outputs"], job["tries"]) == ("done", {"out": 4.0}, 0)


@pytest.mark.slow
@pytest.mark.spec("R-C07")
@pytest.mark.proves(3)
def test_a_job_whose_process_dies_after_it_published_publishes_once(server: Server) -> None:
    document = workflow({"file": "node.file"}, node=n("fake/publish_and_die", value=1.0, times=2))
    job = server.ended(server.submit(document)["id"])
    assert job["state"] == "done"
    assert len(server.witnessed()) == 3
    (output,) = server.get("/v1/outputs").json["outputs"]
    assert f"{output['id']}.png" == job["outputs"]["file"]
    assert sorted(path.name for path in (server.home / "outputs").iterdir()) == [f"{output['id']}.json", f"{output['id']}.png"]


@pytest.mark.slow
@pytest.mark.spec("R-G07")
@pytest.mark.proves(10)
@pytest.mark.parametrize("type", ["fake/block", "fake/hold"])
def test_a_hung_node_is_stopped_at_its_limit_and_the_device_goes_on(make_server: MakeServer, type: str) -> None:
    environment = {
        "LATENTGRAPH_TIME_LIMITS_S": '{"fake/block": 1, "fake/hold": 1}',
        "LATENTGRAPH_CANCEL_GRACE_S": "1",
        "LATENTGRAPH_WORKER_SILENT_S": "5",
    }
    with running(make_server(environment=environment)) as server:
        hung = server.submit(single(type, value=1.0))["id"]
        next_one = server.submit(chain(2, 5.0, "fake/device_step"))["id"]
        failed = server.ended(hung)
        assert (failed["state"], failed["problem"]["node"]) == ("failed", "node")
        assert failed["problem"]["code"] in (("timed_out",) if type == "fake/block" else ("timed_out", "worker_lost"))
        assert server.ended(next_one)["outputs"] == {"last": 7.0}


@pytest.mark.slow
@pytest.mark.spec("R-G07")
def test_a_stopped_worker_is_noticed_and_replaced(make_server: MakeServer) -> None:
    with running(make_server(environment={"LATENTGRAPH_WORKER_SILENT_S": "2"})) as server:
        job = server.submit(single("fake/die", value=4.0, how="stop", times=1))["id"]
        assert server.ended(job)["outputs"] == {"out": 4.0}


@pytest.mark.slow
@pytest.mark.spec("R-G06")
@pytest.mark.proves(12)
def test_cancel_is_final_within_a_step_and_leaves_nothing(server: Server) -> None:
    job = server.submit(chain(3, 1.0, "fake/device_step", seconds=60.0))["id"]
    until(lambda: server.witnessed(), "the first node to begin")
    assert server.request("POST", f"/v1/jobs/{job}/cancel", {}).status in (200, 202)
    assert server.ended(job)["state"] == "cancelled"
    assert server.ended(server.submit(chain(2, 1.0, "fake/device_step"))["id"])["outputs"] == {"last": 3.0}
    assert server.get("/v1/outputs").json["outputs"] == []


@pytest.mark.slow
@pytest.mark.spec("R-O01")
@pytest.mark.proves(13)
@pytest.mark.parametrize(("drain_s", "starts"), [("60", 1), ("0.1", 2)], ids=["ends what runs", "leaves what runs"])
def test_sigterm_loses_nothing(make_server: MakeServer, drain_s: str, starts: int) -> None:
    server = make_server(environment={"LATENTGRAPH_DRAIN_S": drain_s})
    with running(server):
        gated = workflow({"out": "b.value"}, a=n("fake/gate", value=1.0, name="go"), b=n("fake/step", value="@a.value"))
        first = server.submit(gated)["id"]
        jobs = [server.submit(chain(2, float(at), seconds=0.05))["id"] for at in range(8)]
        until(lambda: ["a", "start"] in [line[:2] for line in server.witnessed()], "the gate to be reached")
        below = server.worker_pids()
        os.kill(server.pid, signal.SIGTERM)
        until(lambda: "Told to stop" in server.log(), "the server to hear it")
        if starts == 1:
            server.open_gate("go")
        assert server.process is not None
        assert server.process.wait(PATIENCE_S) == 0
        until(lambda: not [pid for pid in below if is_alive(pid)], "the workers to be gone")
        server.open_gate("go")
        server.start().ready()
        assert server.ended(first)["outputs"] == {"out": 2.0}
        assert [server.ended(id)["outputs"]["last"] for id in jobs] == [at + 2.0 for at in range(8)]
        assert {server.job(id)["tries"] for id in [first, *jobs]} == {0}
        assert len([line for line in server.witnessed() if line[:2] == ["a", "start"]]) == starts


@pytest.mark.slow
@pytest.mark.spec("R-K02")
def test_a_second_server_on_the_same_folder_is_refused(server: Server, make_server: MakeServer) -> None:
    second = make_server()
    with pytest.raises(AssertionError, match=rf"(?s)exit 1.*process {server.pid}\)") as refused:
        second.start()
    assert "Traceback" not in str(refused.value)
    assert server.get("/readyz").status == 200


@pytest.mark.slow
def test_a_retried_job_draws_the_same_seeds(server: Server) -> None:
    document = workflow({"out": "pick.value"}, pick=n("fake/step", value=1.0), seed=n("seed", value={"random": True}))
    first = server.submit(document)
    server.ended(first["id"])
    again = server.request("POST", f"/v1/jobs/{first['id']}/retry", {}).json
    assert (again["seeds"], again["retry_of"]) == (first["seeds"], first["id"])
    assert list(first["seeds"]) == ["seed.value"]


@pytest.mark.slow
@pytest.mark.spec("R-G08")
@pytest.mark.proves(10)
def test_an_idle_worker_that_is_killed_comes_back_for_the_next_job(server: Server) -> None:
    assert server.ended(server.submit(chain(1, 1.0, "fake/device_step"))["id"])["state"] == "done"
    for pid in server.worker_pids():
        os.kill(pid, signal.SIGKILL)
    job = server.ended(server.submit(chain(1, 2.0, "fake/device_step"))["id"])
    assert (job["state"], job["tries"]) == ("done", 0)


#: Put before the path of every process of a server: its wall clock is ahead by the seconds that a file names.
CLOCK = """
import os, time

_time, _time_ns = time.time, time.time_ns

def _ahead():
    with open(os.environ["RIG_CLOCK"]) as file:
        return int(file.read())

time.time = lambda: _time() + _ahead()
time.time_ns = lambda: _time_ns() + _ahead() * 1_000_000_000
"""


@pytest.mark.slow
@pytest.mark.spec("R-C10")
def test_a_clock_that_jumps_loses_no_job_and_changes_no_order(make_server: MakeServer, tmp_path: Path, pack: Path) -> None:
    """Python's own wall clock is moved, in every process. What only libc asks (names of files made) goes by the real one."""
    (tmp_path / "clock").mkdir()
    (tmp_path / "clock/sitecustomize.py").write_text(CLOCK)
    ahead = tmp_path / "ahead"
    ahead.write_text("0")
    path = os.pathsep.join(map(str, (tmp_path / "clock", ROOT, pack)))
    with running(make_server(environment={"PYTHONPATH": path, "RIG_CLOCK": str(ahead)})) as server:
        year, key = 365 * 24 * 3600, {"Idempotency-Key": "one"}
        first = server.submit(chain(2, 0.0, seconds=0.1), key)
        jobs = [first["id"]]
        for turn, seconds in enumerate((10 * year, -10 * year, 24 * 3600, -24 * 3600, 0)):
            gated = workflow(
                {"out": "b.value"}, a=n("fake/gate", value=1.0 + turn, name=str(turn)), b=n("fake/step", value="@a.value")
            )
            jobs += [server.submit(gated)["id"], *(server.submit(chain(2, 10.0 * turn + at))["id"] for at in range(3))]
            until(
                lambda: len([line for line in server.witnessed() if line[:2] == ["a", "start"]]) > turn, "the gate to be reached"
            )
            ahead.with_suffix(".new").write_text(str(seconds))
            os.replace(ahead.with_suffix(".new"), ahead)
            server.open_gate(str(turn))
            accepted = server.submit(chain(1, 1000.0 + turn))
            jobs.append(accepted["id"])
            ended = server.ended(accepted["id"])
            assert max(abs(at - time.time() - seconds) for at in (accepted["created"], ended["ended"])) < 3600
            assert server.submit(chain(2, 0.0, seconds=0.1), key)["id"] == first["id"]
        assert {(job["state"], job["tries"]) for job in map(server.ended, jobs)} == {("done", 0)}
        assert [job["id"] for job in server.get("/v1/jobs").json["jobs"]] == [*reversed(jobs)]
        server.kill()
        server.start().ready()
        assert server.submit(chain(2, 0.0, seconds=0.1), key)["id"] == first["id"]


@pytest.mark.slow
def test_a_huge_result_is_described_and_holds_nobody_up(server: Server) -> None:
    text = workflow({"text": "node.value"}, node=n("fake/long_text", value=1.0, length=50_000_000))
    shout = single("fake/fail", value=1.0, message="no " * 300_000)
    many = workflow(
        {"all": "map.value"},
        list=n("numbers", written=" ".join(map(str, range(1000)))),
        map=n("fake/quick", value="@list.values"),
    )
    jobs = [server.submit(one)["id"] for one in (text, shout, many, chain(2, 1.0))]
    long, failed, mapped, small = (server.ended(id) for id in jobs)
    assert (long["state"], set(long["outputs"]["text"])) == ("done", {"type", "digest", "truncated"})
    assert (failed["state"], failed["problem"]["code"]) == ("failed", "node_failed")
    assert len(failed["problem"]["detail"]) < 10_000
    assert (mapped["state"], mapped["counts"], len(mapped["outputs"]["all"])) == ("done", {"done": 2}, 1000)
    assert small["outputs"] == {"last": 3.0}
    assert len(server.get("/v1/jobs").body) < 100_000
