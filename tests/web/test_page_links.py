"""The page's rule for links is the validator's: the same verdict and the same sentence on random workflows."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

from graph.catalogue import Catalogue, build
from graph.document import document_from_json, write_document
from graph.spec import NodeSpec
from graph.types import PLAIN_NAMES, TypeRef, fits
from graph.validate import Check
from nodes.builtin import MODULES
from server.library.node_types import Known
from tests.web.page_model import ask_page

Json = Any  # JSON values
LITERALS: dict[str, list[Json]] = {"int": [1, 64], "float": [0.5, 3], "text": ["a"], "bool": [True, False]}
#: What a refused link is refused for; other problems lie elsewhere in the workflow.
AT_THE_PORT = {"unknown_port", "unknown_source", "unknown_output", "wrong_link_type", "file_linked"}


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return build(MODULES, packs=False)


class Workflows:
    """Random workflows, and links to try in them."""

    def __init__(self, catalogue: Catalogue, seed: int) -> None:
        self.specs = {spec.id: spec for spec in catalogue.specs}
        self.random = random.Random(seed)

    def scope(self, size: int, instances: dict[str, Json]) -> tuple[dict[str, Json], dict[str, list[str]], dict[str, list[str]]]:
        """Nodes without a circle, with the inputs and outputs of each."""
        nodes: dict[str, Json] = {}
        inputs: dict[str, list[str]] = {}
        outputs: dict[str, list[str]] = {}
        sources: list[tuple[str, TypeRef | None]] = []
        for number in range(size):
            name = f"n{number}"
            kind = self.random.choice([*self.specs, *(["disk_cache", "make_list", "switch", "xy_grid"] * 2), *instances])
            if kind in instances:
                inputs[name], outputs[name] = list(instances[kind]["inputs"]), list(instances[kind]["outputs"])
                wanted: list[tuple[str, TypeRef | None]] = [(port, None) for port in inputs[name]]
            else:
                spec = self.specs[kind]
                inputs[name], outputs[name] = [port.name for port in spec.inputs], [port.name for port in spec.outputs]
                wanted = [(port.name, port.type) for port in spec.inputs]
            given = {port: value for port, ref in wanted if (value := self.value(ref, sources)) is not None}
            nodes[name] = {"type": kind, "inputs": given}
            sources += [(f"{name}.{port}", self.output_type(kind, port)) for port in outputs[name]]
        order = list(nodes)
        self.random.shuffle(order)
        return {name: nodes[name] for name in order}, inputs, outputs

    def output_type(self, kind: str, port: str) -> TypeRef | None:
        spec: NodeSpec | None = self.specs.get(kind)
        found = spec.output(port) if spec else None
        return found.type if found else None

    def may_fit(self, nodes: dict[str, Json], source: str, target: str) -> bool:
        """Whether a link is worth trying: from an earlier node, of a type that may fit."""
        (node, _, port), (taker, _, name) = source.partition("."), target.partition(".")
        carried = self.output_type(nodes[node]["type"], port)
        spec = self.specs.get(nodes[taker]["type"])
        wanted = spec.port(name) if spec else None
        return int(node[1:]) < int(taker[1:]) and (carried is None or wanted is None or fits(carried, wanted.type) != "no")

    def value(self, ref: TypeRef | None, sources: list[tuple[str, TypeRef | None]]) -> Json:
        roll = self.random.random()
        fitting = [name for name, source in sources if ref is None or source is None or fits(source, ref) != "no"]
        if roll < 0.55 and fitting:
            return {"link": self.random.choice(fitting)}
        if roll < 0.6 and sources:
            return {"link": self.random.choice(sources)[0]}
        names = [ref.name] if ref is not None and ref.name in LITERALS else list(LITERALS)
        literal = self.random.choice(LITERALS[self.random.choice(names)])
        if roll < 0.85 and (ref is None or ref.is_generic or ref.name in PLAIN_NAMES.values()):
            return [literal, literal] if ref is not None and ref.is_list else literal
        return None

    def subgraphs(self) -> dict[str, Json]:
        made: dict[str, Json] = {}
        for number in range(self.random.choice([0, 0, 1, 2])):
            nodes, inputs, outputs = self.scope(self.random.randint(1, 4), {f"#{name}": entry for name, entry in made.items()})
            ins = [f"{node}.{port}" for node, ports in inputs.items() for port in ports]
            self.random.shuffle(ins)
            outs = [f"{node}.{port}" for node, ports in outputs.items() for port in ports]
            made[f"s{number}"] = {
                "nodes": nodes,
                "inputs": {
                    f"i{at}": {"to": ins[2 * at : 2 * at + self.random.randint(1, 2)]} for at in range(min(3, len(ins) // 2))
                },
                "outputs": {f"o{at}": {"from": self.random.choice(outs)} for at in range(2) if outs},
            }
        return made

    def case(self) -> Json:
        """A document, and a link to try in it."""
        subgraphs = self.subgraphs()
        size = self.random.randint(2, 12)
        nodes, inputs, outputs = self.scope(size, {f"#{name}": entry for name, entry in subgraphs.items()})
        document = {"format": "latentgraph/workflow", "version": "1.0", "nodes": nodes, "subgraphs": subgraphs}
        froms = [f"{node}.{port}" for node, ports in outputs.items() for port in ports] or ["n0.nothing"]
        tos = [f"{node}.{port}" for node, ports in inputs.items() for port in ports] or ["n0.nothing"]
        source, target = self.random.choice(froms), self.random.choice(tos)
        if self.random.random() < 0.85:
            source = self.random.choice([name for name in froms if self.may_fit(nodes, name, target)] or froms)
        if self.random.random() < 0.04:
            source = self.random.choice(["n1.valu", "n1.imag"]) if subgraphs else self.random.choice(["m1.value", "n1.valu"])
        if self.random.random() < 0.03:
            target = f"{target.partition('.')[0]}.valeu"
        return {
            "document": write_document(document_from_json(document)),
            "scope": "",
            "from": source,
            "to": target,
            "raw": document,
        }


def validator_says(case: Json, specs: dict[str, NodeSpec]) -> set[str]:
    """The validator's sentences about the link, once it is made; none: it is right."""
    raw, (node, _, port) = case["raw"], case["to"].partition(".")
    entry = raw["nodes"][node]
    linked = {**entry, "inputs": {**entry["inputs"], port: {"link": case["from"]}}}
    check = Check(document_from_json({**raw, "nodes": {**raw["nodes"], node: linked}}), specs)
    assert not check.flat.is_refused
    return set(_about(check, node, port))


def _about(check: Check, node: str, port: str) -> Iterator[str]:
    reached = set(check.flat.targets(f"{node}.{port}")) | {(node, port)}
    for problem in check.problems:
        at = check.index.get(problem.node or "")
        profile = check.profiles[at] if at is not None else None
        ports = {name for path, name in reached if path == problem.node}
        rules = [profile.rules[name] for name in ports if name in profile.rules] if profile is not None else []
        is_mixed = problem.code == "mixed_types" and any(rule.type.is_generic for rule in rules)
        is_nested = problem.code == "nested_list" and at is not None and bool(ports & (check.flow.mapped[at] or set()))
        if problem.code == "cycle" or (problem.code in AT_THE_PORT and problem.port in ports) or is_mixed or is_nested:
            yield problem.message


@pytest.mark.slow
def test_the_page_judges_a_thousand_links_as_the_validator_does(catalogue: Catalogue) -> None:
    workflows = Workflows(catalogue, seed=4)
    cases = [workflows.case() for _ in range(1_000)]
    asked = [{name: case[name] for name in ("document", "scope", "from", "to")} for case in cases]
    verdicts = ask_page({"catalogue": Known(catalogue, "1").to_json(), "judge": asked})["judge"]
    refused = 0
    for case, verdict in zip(cases, verdicts, strict=True):
        said = validator_says(case, workflows.specs)
        told = f"{case['from']} -> {case['to']} in {case['document']}\npage: {verdict}\nvalidator: {said}"
        assert verdict["ok"] is (not said), told
        assert verdict["ok"] or verdict["reason"] in said, told
        refused += not verdict["ok"]
    assert 400 < refused < 850  # else the cases say nothing
