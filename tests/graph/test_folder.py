"""Reading files: whole, without surprises, and without using up what a process may have."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from graph.blob import ALIGNMENT
from graph.folder import COPY_BELOW, map_file


def mappings(path: Path) -> int:
    return Path("/proc/self/maps").read_text().count(str(path))


@pytest.fixture
def large(tmp_path: Path) -> Path:
    path = tmp_path / "large"
    path.write_bytes(np.arange(COPY_BELOW + 8, dtype=np.uint8).tobytes())
    return path


def test_a_large_file_is_mapped_and_keeps_no_file_descriptor(large: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    views = [map_file(large)[0] for _ in range(50)]
    assert len(os.listdir("/proc/self/fd")) == before
    assert mappings(large) == 50
    assert all(view.readonly and view.nbytes == COPY_BELOW + 8 for view in views)
    with pytest.raises(TypeError):
        views[0][0] = 1


def test_a_mapping_lasts_as_long_as_a_view_of_it_and_no_longer(large: Path) -> None:
    content = large.read_bytes()
    view, _ = map_file(large)
    array = np.frombuffer(view, np.uint8)[COPY_BELOW:]
    large.unlink()
    del view
    gc.collect()
    assert array.tobytes() == content[COPY_BELOW:]
    assert mappings(large) == 1
    del array
    gc.collect()
    assert mappings(large) == 0


def test_small_files_are_copied_to_aligned_memory_and_are_no_mapping_each(tmp_path: Path) -> None:
    before = Path("/proc/self/maps").read_text().count("\n")
    views = []
    for size in (1, 63, 64, 4097, COPY_BELOW - 1) * 40:
        path = tmp_path / str(size)
        path.write_bytes(bytes([size % 251]) * size)
        views.append(map_file(path)[0])
        assert bytes(views[-1]) == path.read_bytes()
    assert all(view.readonly and np.frombuffer(view, np.uint8).ctypes.data % ALIGNMENT == 0 for view in views)
    assert Path("/proc/self/maps").read_text().count("\n") < before + 100


def test_a_view_that_lives_to_the_end_of_the_process_does_no_harm(large: Path) -> None:
    code = (
        "import atexit, sys, pathlib; from graph.folder import map_file\n"
        "view, _ = map_file(pathlib.Path(sys.argv[1]))\n"
        "atexit.register(lambda: print(sum(view[:100])))\n"
        "import weakref; weakref.finalize(object, print, 'last', view[1])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(large)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "4950" in done.stdout


@pytest.mark.slow
def test_more_large_values_than_file_descriptors_are_readable_at_once(tmp_path: Path) -> None:
    code = (
        "import resource, sys, pathlib; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\n"
        "from graph.store import Store\n"
        "from tests.graph.packed_values import tensors\n"
        "store = Store(pathlib.Path(sys.argv[1]), 1 << 30)\n"
        "digests = [store.put(tensors(i, 300_000)) for i in range(100)]\n"
        "assert all([store.get(digest) for digest in digests])"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "store")], check=True)
