"""Figures for Prometheus. Labels come from short fixed lists: route templates, statuses, node types; never ids or names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

_REQUEST_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 90.0)
_NODE_S: Final = (0.001, 0.01, 0.1, 0.5, 1.0, 5.0, 10.0, 30.0, 60.0, 300.0, 3600.0)
#: More node types than this (packs) are counted as "other".
MOST_TYPES: Final = 500


class Metrics:
    """The server's own registry: nothing of the process is global."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry(auto_describe=True)
        self._requests = Counter(
            "latentgraph_requests", "Requests answered.", ("method", "route", "status"), registry=self._registry
        )
        self._request_s = Histogram(
            "latentgraph_request_seconds", "Time to answer.", ("route",), buckets=_REQUEST_S, registry=self._registry
        )
        self._jobs = Counter("latentgraph_jobs", "Jobs that ended, by state.", ("state",), registry=self._registry)
        self._nodes = Histogram(
            "latentgraph_node_seconds", "Time that nodes ran.", ("type",), buckets=_NODE_S, registry=self._registry
        )
        self._cached = Counter("latentgraph_cached_nodes", "Nodes whose results were remembered.", registry=self._registry)
        #: By what is told, the figures that count it: `labels` is slow. As many as there are routes and node types.
        self._of_answer: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self._of_type: dict[str, Histogram] = {}

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """An answer was given; `route` is a template of the table or "other"."""
        method = method if method in ("GET", "HEAD", "PUT", "POST", "PATCH", "DELETE", "OPTIONS") else "other"
        found = self._of_answer.get((method, route, status))
        if found is None:
            found = self._requests.labels(method, route, str(status)), self._request_s.labels(route)
            self._of_answer[method, route, status] = found
        found[0].inc()
        found[1].observe(seconds)

    def job(self, state: str) -> None:
        """A job ended "done", "failed" or "cancelled"."""
        self._jobs.labels(state).inc()

    def node(self, type_: str, seconds: float) -> None:
        """A node ran."""
        found = self._of_type.get(type_)
        if found is None:
            if len(self._of_type) >= MOST_TYPES:
                type_ = "other"
            found = self._of_type[type_] = self._nodes.labels(type_)
        found.observe(seconds)

    def cached(self, count: int = 1) -> None:
        """Results were remembered."""
        self._cached.inc(count)

    def gauge(self, name: str, text: str, value: Callable[[], float]) -> None:
        """Show a figure that is asked for when it is read."""
        Gauge(f"latentgraph_{name}", text, registry=self._registry).set_function(value)

    def text(self) -> bytes:
        """Everything in Prometheus' text form."""
        return generate_latest(self._registry)
