"""A disk that is full for real: refused before, told while, and all goes on after."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.rig.serving import chain, n, running, until, workflow
from tests.rig.small_disk import SmallDisk, small_disk
from tests.server.whole.conftest import MakeServer

pytestmark = [pytest.mark.slow, pytest.mark.spec("R-C05"), pytest.mark.tool("unshare", "nsenter")]

#: Below it nothing new is taken; the job database may need 4 MiB until its log begins anew.
FLOOR = 8 << 20
BELOW_THE_FLOOR = 6 << 20


@pytest.fixture
def disk(home: Path, catalogue_with_pack: Path) -> Iterator[SmallDisk]:
    with small_disk(home, catalogue_with_pack, "48m") as made:
        yield made


def painting(gate: str, size: int) -> dict[str, Any]:
    """Waits at a gate, then paints a picture of 12 bytes a pixel and saves it."""
    return workflow(
        {"file": "save.file"},
        wait=n("fake/gate", value=1.0, name=gate),
        picture=n("fake/paint", value="@wait.value", size=size),
        save=n("save_image", image="@picture.image"),
    )


def test_a_full_disk_refuses_jobs_fails_what_needs_it_and_is_forgotten_once_it_is_not(
    make_server: MakeServer, disk: SmallDisk
) -> None:
    with running(make_server(under=disk.under, environment={"LATENTGRAPH_MIN_FREE_BYTES": str(FLOOR)})) as server:
        assert server.ended(server.submit(chain(2, 1.0))["id"])["state"] == "done"
        job = server.submit(painting("first", 1024))["id"]
        until(lambda: ["wait", "start"] in [line[:2] for line in server.witnessed()], "the gate to be reached")
        workers = server.worker_pids()
        disk.fill(BELOW_THE_FLOOR)
        refused = until(
            lambda: reply if (reply := server.request("POST", "/v1/jobs", {"workflow": chain(2, 2.0)})).status != 202 else None,
            "jobs to be refused",
        )
        assert (refused.status, refused.json["code"], refused.headers["Retry-After"]) == (507, "disk_full", "30")
        assert "Free some space" in refused.json["detail"]
        raw = {"Content-Type": "application/octet-stream", "X-File-Name": "a.png"}
        upload = server.request("POST", "/v1/files", b"x" * 100, raw)
        assert (upload.status, upload.json["code"]) == (507, "disk_full")
        server.open_gate("first")
        failed = server.ended(job)
        assert (failed["state"], failed["problem"]["code"], failed["problem"]["node"]) == ("failed", "disk_full", "picture")
        assert "Free some space" in failed["problem"]["detail"]
        assert str(server.home) not in failed["problem"]["detail"]
        assert set(workers) <= set(server.worker_pids())  # another may have started meanwhile
        disk.empty()
        until(lambda: server.get("/readyz").status == 200, "the server to take jobs again")
        again = server.submit(painting("first", 1024))["id"]
        assert server.ended(again)["state"] == "done"
        assert [output["job"] for output in server.get("/v1/outputs").json["outputs"]] == [again]
        assert disk.is_sound()


def test_what_ends_while_no_byte_is_free_is_kept_when_there_is_room(make_server: MakeServer, disk: SmallDisk) -> None:
    with running(make_server(under=disk.under)) as server:
        wait = workflow({"out": "b.value"}, a=n("fake/gate", value=1.0, name="go"), b=n("fake/step", value="@a.value"))
        job = server.submit(wait)["id"]
        until(server.witnessed, "the gate to be reached")
        disk.fill(0)
        server.open_gate("go")
        until(lambda: server.log().count("cannot be written yet") or server.job(job)["state"] == "done", "the end of the job")
        disk.empty()
        assert server.ended(job)["outputs"] == {"out": 2.0}
        assert disk.is_sound()


def test_a_server_killed_on_a_full_disk_goes_on_when_there_is_room(make_server: MakeServer, disk: SmallDisk) -> None:
    server = make_server(under=disk.under)
    with running(server):
        jobs = [server.submit(painting("go", 16))["id"] for _ in range(3)]
        until(server.witnessed, "the gate to be reached")
        disk.fill(0)
        server.kill()
        server.start()
        until(lambda: server.get("/readyz").status == 503, "the server to say that it is not ready")
        disk.empty()
        server.open_gate("go")
        server.ready()
        assert [server.ended(id)["state"] for id in jobs] == ["done"] * 3
        assert sorted(output["job"] for output in server.get("/v1/outputs").json["outputs"]) == sorted(jobs)
        assert disk.is_sound()
