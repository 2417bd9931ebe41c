"""Questions about the shape of a graph."""

import subprocess
import sys

from graph.topology import find_cycle, order

#: 0 -> 1 -> 3, 0 -> 2 -> 3, 4 alone.
DIAMOND = [[1, 2], [3], [3], [], []]


def test_order_puts_sources_first() -> None:
    assert order([[], [0], [1]]) == [2, 1, 0]
    assert order(DIAMOND) == [0, 4, 1, 2, 3]


def test_order_leaves_out_what_waits_for_a_cycle() -> None:
    assert order([[1], [2], [1, 3], [], []]) == [0, 4]


def test_a_short_cycle_is_found_before_a_long_one() -> None:
    assert find_cycle([[1], [2], [0], [4], [3]]) == [3, 4]
    assert find_cycle([[1], [2], [0, 2]]) == [2]
    assert find_cycle(DIAMOND) == []


def test_a_cycle_starts_at_its_first_node_and_follows_the_links() -> None:
    assert find_cycle([[2], [0], [1]]) == [0, 2, 1]


def test_compiling_imports_no_networkx() -> None:
    code = "import sys, graph.compile, graph.schema, graph.record; print(sorted({'networkx', 'pydantic', 'diskcache'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
