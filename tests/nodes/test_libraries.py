"""Two threads that need a model library at once, with one that puts another module in its place as the real ones do."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

#: While it is imported, it waits until the other thread waits too: for this import, or for its turn.
LIBRARY = """
import sys, types
import __main__

def waits():
    frame = sys._current_frames()[__main__.second.ident]
    return "importlib" in frame.f_code.co_filename or frame.f_code.co_filename.endswith("libraries.py")

__main__.entered.set()
while not waits():
    pass

class Lazy(types.ModuleType):
    AutoTokenizer = 1

sys.modules[__name__] = Lazy(__name__)
"""

PROGRAM = """
import threading
from nodes.libraries import import_transformers

said, entered = [], threading.Event()

def use():
    if threading.current_thread() is second:
        entered.wait()
    try:
        {before}
        from transformers import AutoTokenizer
        said.append("there")
    except ImportError as error:
        said.append(str(error).partition(" (")[0])

first, second = threading.Thread(target=use), threading.Thread(target=use)
second.start()
first.start()
first.join()
second.join()
print(*sorted(said), sep=", ")
"""


def said(folder: Path, before: str) -> str:
    (folder / "transformers").mkdir()
    (folder / "transformers" / "__init__.py").write_text(LIBRARY)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (folder, ROOT)))}
    command = [sys.executable, "-c", PROGRAM.format(before=before)]
    return subprocess.run(command, env=environment, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


def test_two_threads_may_need_a_model_library_at_once(tmp_path: Path) -> None:
    assert said(tmp_path, "import_transformers()") == "there, there"


def test_without_turns_the_second_thread_is_given_the_replaced_module(tmp_path: Path) -> None:
    """What the turns are for; if this fails, they are no longer needed."""
    assert said(tmp_path, "pass") == "cannot import name 'AutoTokenizer' from 'transformers', there"


def test_who_imports_from_a_model_library_takes_a_turn_first() -> None:
    """But for `nodes.families`, whose loads are called by who has taken one."""
    use = re.compile(r"^        from (transformers|diffusers)\b", re.MULTILINE)
    files = [path for path in (ROOT / "nodes").rglob("*.py") if use.search(path.read_text(encoding="utf-8"))]
    assert {path.stem for path in files if "families" not in path.parts} == {"recipes", "quiet"}
    assert all("import_" in path.read_text(encoding="utf-8") for path in files if "families" not in path.parts)
