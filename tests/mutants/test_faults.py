"""Every fault still applies: a fault whose text is gone tests nothing."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.mutants.faults import FAULTS, ROOT, Fault


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_the_fault_applies_and_leaves_valid_code(fault: Fault, tmp_path: Path) -> None:
    target = tmp_path / fault.file
    target.parent.mkdir(parents=True)
    shutil.copy(ROOT / fault.file, target)
    fault.apply(tmp_path)
    compile(target.read_text(encoding="utf-8"), fault.file, "exec")
    assert all((ROOT / test.partition("::")[0]).exists() for test in fault.tests)


def test_names_are_different() -> None:
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 12


def test_a_fault_whose_text_is_gone_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    with pytest.raises(ValueError, match="fault 'gone': its text stands 0 times in a.py, not once; mend the fault"):
        Fault("gone", "a.py", "y = 1", "y = 2", ()).apply(tmp_path)
