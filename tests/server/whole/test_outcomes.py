"""What becomes of a job, and of the jobs beside it, when memory, a process, the disk or the clock fails (Must show 6)."""

from __future__ import annotations

import os
import signal

import pytest

from tests.rig.serving import Server, chain, is_alive, n, running, until, workflow
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
@pytest.mark.parametrize("how", ["segv", "kill", "exit0", "exit1"])
def test_a_job_that_kills_its_worker_is_stopped_after_three_tries(server: Server, how: str) -> None:
    poison = server.submit(single("fake/die", value=1.0, how=how))["id"]
    others = [server.submit(chain(2, float(at), "fake/device_step"))["id"] for at in range(5)]
    failed = server.ended(poison)
    assert (failed["state"], failed["problem"]["code"]) == ("failed", "worker_lost")
    assert len([line for line in server.witnessed() if line[:2] == ["node", "start"]]) == 3
    assert [server.ended(id)["state"] for id in others] == ["done"] * 5
    assert [server.job(id)["tries"] for id in others] == [0] * 5


@pytest.mark.slow
@pytest.mark.spec("R-C08")
def test_the_count_of_tries_goes_on_after_a_restart_of_the_server(make_server: MakeServer) -> None:
    with running(make_server()) as server:
        poison = server.submit(single("fake/die", value=1.0, how="segv"))["id"]
        until(lambda: server.job(poison)["tries"] >= 1, "the first death")
        server.kill()
        server.start()
        failed = server.ended(poison)
        assert (failed["state"], failed["problem"]["code"]) == ("failed", "worker_lost")
        assert len([line for line in server.witnessed() if line[:2] == ["node", "start"]]) <= 4


@pytest.mark.slow
@pytest.mark.spec("R-C08")
def test_a_worker_that_dies_twice_is_forgiven_once_the_node_succeeds(server: Server) -> None:
    job = server.ended(server.submit(single("fake/die", value=4.0, how="kill", times=2))["id"])
    assert (job["state"], job["outputs"], job["tries"]) == ("done", {"out": 4.0}, 0)


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
def test_sigterm_loses_nothing(make_server: MakeServer) -> None:
    server = make_server()
    with running(server):
        jobs = [server.submit(chain(2, float(at), "fake/device_step", seconds=0.3))["id"] for at in range(8)]
        until(lambda: server.witnessed(), "the first node to begin")
        below = server.worker_pids()
        assert server.stop(signal.SIGTERM) == 0
        until(lambda: not [pid for pid in below if is_alive(pid)], "the workers to be gone")
        server.start().ready()
        assert [server.ended(id)["outputs"]["last"] for id in jobs] == [at + 2.0 for at in range(8)]


@pytest.mark.slow
@pytest.mark.spec("R-K02")
def test_a_second_server_on_the_same_folder_is_refused(server: Server, make_server: MakeServer) -> None:
    second = make_server()
    with pytest.raises(AssertionError, match=f"exit 1.*{server.pid}") as refused:
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
