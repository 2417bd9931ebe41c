"""Which accelerators are found, and that torch is not loaded for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from nodes import devices
from nodes.devices import accelerators, accelerators_at_once


@pytest.fixture
def gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Device files of three GPUs, on a Linux whose torch is built for them."""
    for name in ("nvidia10", "nvidia2", "nvidia3", "nvidiactl", "nvidia-uvm"):
        (tmp_path / name).touch()
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setattr(devices, "_torch_is_built_for_cuda", lambda: True)
    return tmp_path


@pytest.mark.parametrize(
    ("visible", "count"),
    [
        (None, 3), ("", 0), ("-1", 0), ("0", 1), ("2,0", 2), ("0,7,1", 1), ("0, 1", 2), ("GPU-3e8a,GPU-11aa", 2), ("none", 0),
    ],
)  # fmt: skip
def test_gpus_are_numbered_from_0_as_far_as_cuda_shows_them(gpus: Path, visible: str | None, count: int) -> None:
    environment = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    assert accelerators(gpus, environment) == tuple(f"cuda:{index}" for index in range(count))


def test_a_torch_built_without_cuda_has_no_gpus(gpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "_torch_is_built_for_cuda", lambda: False)
    assert accelerators(gpus, {}) == ()


def test_where_only_torch_can_tell_nothing_is_known_at_once(gpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert accelerators_at_once(gpus, {}) == ("cuda:0", "cuda:1", "cuda:2")
    (gpus / "dxg").touch()
    assert accelerators_at_once(gpus, {}) is None
    monkeypatch.setattr(devices, "_torch_is_built_for_cuda", lambda: False)
    assert accelerators_at_once(gpus, {}) == ()


@pytest.mark.parametrize(("machine", "found"), [("arm64", ("mps",)), ("x86_64", ())])
def test_a_mac_has_its_gpu_if_it_is_one_of_apples(monkeypatch: pytest.MonkeyPatch, machine: str, found: tuple[str, ...]) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    monkeypatch.setattr("platform.machine", lambda: machine)
    assert accelerators() == found


@pytest.mark.parametrize(
    ("line", "built"),
    [("cuda: Optional[str] = '12.8'", True), ("cuda: Optional[str] = None", False), ("hip: Optional[str] = '6'", False)],
)
def test_what_torch_is_built_for_is_read_without_importing_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, built: bool
) -> None:
    (tmp_path / "__init__.py").touch()
    (tmp_path / "version.py").write_text(f"debug = False\n{line}\n")
    spec = type("Spec", (), {"origin": str(tmp_path / "__init__.py")})()
    monkeypatch.setattr(devices, "find_spec", lambda name: spec)
    assert devices._torch_is_built_for_cuda() is built
