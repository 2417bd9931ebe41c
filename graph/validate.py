"""Everything that can be wrong with a workflow before it is planned, found in one go.

One pass over the unfolded nodes reads literals and links; a second follows types through the graph (`graph.flow`).
`graph.compile` builds on the same passes. What only values can tell (lengths of lists in step, families, files that
are missing here) is told while planning.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from graph import topology
from graph.document import Document, Node
from graph.errors import Problem
from graph.flatten import Flat, flatten
from graph.flow import Flow, Link
from graph.literals import Flawed, Profile, Rule, check_literal, describe, shown
from graph.report import Report
from graph.spec import NodeSpec, Seed
from graph.types import PLAIN_NAMES, Plain, TypeRef


def validate(document: Document, catalogue: Mapping[str, NodeSpec]) -> list[Problem]:
    """All problems of a workflow, in the order of its nodes; none: it can be planned."""
    return Check(document, catalogue).problems


#: Profiles of node types by the identity of their specs, which these hold, and the types in them: a catalogue is checked
#: against again and again. Cleared when it has grown over all that catalogues hold, as in programs that read many of them.
_PROFILES: Final[dict[int, Profile]] = {}
_TYPES: Final[dict[TypeRef, TypeRef]] = {}
_MOST_PROFILES: Final = 10_000


def _profile_of(spec: NodeSpec) -> Profile:
    known = _PROFILES.get(id(spec))
    if known is None:
        if len(_PROFILES) >= _MOST_PROFILES:
            _PROFILES.clear()
            _TYPES.clear()
        known = _PROFILES[id(spec)] = Profile(spec, lambda ref: _TYPES.setdefault(ref, ref))
    return known


class Check:
    """The passes and what they found. Lists go by position in `flat`; an id of a type that is not known has no profile."""

    def __init__(self, document: Document, catalogue: Mapping[str, NodeSpec]) -> None:
        self.document = document
        self.catalogue = catalogue
        interned: dict[TypeRef, TypeRef] = {}
        # Not a method: kept by `flow`, a bound one would tie all of this into a cycle.
        self._intern: Callable[[TypeRef], TypeRef] = lambda ref: _TYPES.get(ref) or interned.setdefault(ref, ref)
        self.by_type: dict[str, Profile | None] = {}
        self.renamed: dict[str, NodeSpec] | None = None
        self.flat: Flat = flatten(document, self.spec_of)
        self.report = Report(self.flat.ids)
        size = len(self.flat.ids)
        self.index: dict[str, int] = {name: position for position, name in enumerate(self.flat.ids)}
        self.profiles: list[Profile | None] = [None] * size
        self.literals: list[dict[str, Plain]] = []
        self.links: list[dict[str, Link]] = []
        self.random: list[tuple[int, str]] = []
        self.files: list[tuple[int, str]] = []
        self.outputs: dict[str, Link] = {}
        self.order: list[int] = []
        self._run()

    @property
    def problems(self) -> list[Problem]:
        """What was found, by node."""
        return [*self.flat.problems, *self.report.problems()]

    def _run(self) -> None:
        nodes = self.flat.nodes
        if self.flat.is_refused:
            return
        self._load_profiles(nodes)
        in_order = self._read_inputs(nodes)
        self._read_outputs()
        self._check_named_inputs()
        self.order = list(range(len(nodes))) if in_order else self._sort()
        self.flow = Flow(self.flat.ids, nodes, self.profiles, self.literals, self.links, self.outputs, self._intern, self.report)
        self.flow.run(self.order)

    # What is known of a node type.

    def spec_of(self, kind: str) -> NodeSpec | None:
        """The spec of a type id, or of the type that once had this id."""
        found = self.catalogue.get(kind)
        if found is not None:
            return found
        if self.renamed is None:
            self.renamed = {was: spec for spec in self.catalogue.values() for was in spec.was}
        return self.renamed.get(kind)

    def _load_profiles(self, nodes: list[Node]) -> None:
        by_type, profiles = self.by_type, self.profiles
        for position, node in enumerate(nodes):
            kind = node.type
            try:
                profile = by_type[kind]
            except KeyError:
                profile = by_type[kind] = self._profile(kind)
            if profile is not None:
                profiles[position] = profile
                if node.type_version is not None and node.type_version > profile.spec.version and node.state != "muted":
                    self._newer_type(position, node, profile.spec)
            elif kind[0] == "#":
                self._load_interface(position, node)
            elif node.state != "muted":
                self._unknown_type(position, kind)

    def _profile(self, kind: str) -> Profile | None:
        spec = self.spec_of(kind)
        return None if spec is None else _profile_of(spec)

    def _load_interface(self, position: int, node: Node) -> None:
        path = self.flat.ids[position]
        interface = self.flat.interfaces.get(path)
        if interface is not None:
            self.profiles[position] = Profile(interface, self._intern)
        elif node.state != "muted":
            message = f'{path} is an instance of "{node.type}", which this workflow does not define.'
            known = (
                self.report.near(node.type[1:], self.document.subgraphs) or " Define it under `subgraphs`, or remove the node."
            )
            self.report.note(position, "unknown_subgraph", message + known)

    def _unknown_type(self, position: int, kind: str) -> None:
        name = self.flat.ids[position]
        pack, slash, _ = kind.partition("/")
        if slash and not any(known.startswith(f"{pack}/") for known in self.catalogue):
            advice = "Install it, see `latentgraph doctor` if it is installed, or remove the node."
            message = f'{name} has the type "{kind}", and the node pack "{pack}" gives no nodes here. {advice}'
            self.report.note(position, "missing_pack", message)
            return
        advice = self.report.near(kind, self.catalogue) or " Check the type, or update Latentgraph."
        self.report.note(position, "unknown_type", f'{name} has the unknown node type "{kind}".{advice}')

    def _newer_type(self, position: int, node: Node, spec: NodeSpec) -> None:
        name = self.flat.ids[position]
        source = f'the node pack "{spec.id.partition("/")[0]}"' if "/" in spec.id else "Latentgraph"
        message = (
            f"{name} was saved with version {node.type_version} of {spec.id}; version {spec.version} is here. Update {source}."
        )
        self.report.note(position, "newer_type", message)

    # First pass: literals and links.

    def _read_inputs(self, nodes: list[Node]) -> bool:
        """Fill `literals` and `links`. Whether every link leads to an earlier node, so that the order is right."""
        in_order = True
        cache: dict[str, Link] = {}
        for position, node in enumerate(nodes):
            profile = self.profiles[position]
            links: dict[str, Link] = {}
            self.links.append(links)
            if profile is not None and node.state is None:
                literals = profile.defaults.copy()
                self.literals.append(literals)
                in_order = self._read_node(position, profile, node.inputs, literals, links, cache) and in_order
            else:
                self.literals.append({})
                if node.state != "muted":
                    in_order = self._read_links_only(position, node, links) and in_order
        return in_order

    def _read_node(
        self,
        position: int,
        profile: Profile,
        inputs: dict[str, Any],  # Any: JSON input values
        literals: dict[str, Plain],
        links: dict[str, Link],
        cache: dict[str, Link],
    ) -> bool:
        """One node of the hot path: the usual literal and the usual link take no call. Whether its links lead back."""
        rules, leads_back = profile.rules, True
        for name, value in inputs.items():
            rule = rules.get(name)
            if rule is None:
                self._unknown_port(position, name, profile)
                continue
            kind = type(value)
            if kind is rule.exact:
                if rule.low is None or rule.low <= value <= rule.high:
                    literals[rule.name] = value
                    continue
            elif kind is dict and "link" in value:
                text = value["link"]
                link = cache.get(text) if type(text) is str and len(value) == 1 else None
                if link is None:
                    link = self._link(position, name, value)
                literals.pop(rule.name, None)
                if link is not None:
                    cache[text] = links[rule.name] = link
                    leads_back = leads_back and link.node < position
                if rule.is_file:
                    self._linked_file(position, rule)
                continue
            self._literal(position, rule, value, literals)
        if not profile.required <= inputs.keys():
            self._missing(position, profile, inputs)
        if profile.renames:
            self._twice(position, profile, inputs)
        return leads_back

    def _read_links_only(self, position: int, node: Node, links: dict[str, Link]) -> bool:
        """The links of a node that does not run itself (bypassed), or whose type is unknown: for cycles and hand-over."""
        in_order = True
        profile = self.profiles[position]
        for name, value in node.inputs.items():
            rule = profile.rules.get(name) if profile is not None else None
            if profile is not None and rule is None:
                self._unknown_port(position, name, profile)
            elif type(value) is dict and "link" in value:
                link = self._link(position, name, value)
                if link is not None:
                    links[rule.name if rule is not None else name] = link
                    in_order = in_order and link.node < position
        return in_order

    def _link(self, position: int, port: str, value: dict[str, Any]) -> Link | None:
        where = f"{self.flat.ids[position]}.{port}"
        text = value["link"]
        if (self.flat.ids[position], port) in self.flat.bad_links:
            return None
        if len(value) != 1 or type(text) is not str or "." not in text:
            message = f'{where} got {shown(value)}; a link reads {{"link": "node.port"}}. Write it so.'
            self.report.note(position, "bad_link", message, port)
            return None
        node, _, output = self.flat.source(text).partition(".")
        source = self.index.get(node)
        if source is None:
            self._no_source(position, port, text)
            return None
        profile = self.profiles[source]
        if profile is None:
            return Link(source, 0)  # an unknown type is reported at its node; its outputs cannot be checked
        found = profile.outputs.get(output)
        if found is None:
            known = self.report.near(output, profile.outputs) or " It has no outputs."
            message = f'{where} is linked to "{text}", and {node} ({profile.spec.id}) has no output "{output}".{known}'
            self.report.note(position, "unknown_output", message, port)
            return None
        return Link(source, found)

    def _no_source(self, position: int, port: str, text: str) -> None:
        where, (node, _, output) = f"{self.flat.ids[position]}.{port}", text.partition(".")
        instance = self.flat.instances.get(node)
        if instance is not None:
            known = self.report.near(output, instance.outputs)
            self.report.note(
                position, "unknown_output", f'{where} is linked to "{text}", and {node} has no output "{output}".{known}', port
            )
            return
        known = self.report.near(node, self.flat.ids) or " Link another output, or remove the link."
        self.report.note(
            position, "unknown_source", f'{where} is linked to "{text}", and no node is called "{node}".{known}', port
        )

    def _literal(self, position: int, rule: Rule, value: Any, literals: dict[str, Plain]) -> None:
        coerced, flaw = check_literal(rule, value)
        if flaw is not None:
            self._refuse(position, rule, value, flaw)
            return
        if value is None and rule.name not in literals:
            return  # optional, nothing linked, no default: absent
        literals[rule.name] = coerced
        if isinstance(coerced, dict) and isinstance(rule.hint, Seed):
            self.random.append((position, rule.name))
        elif rule.is_file and coerced is not None:
            self.files.append((position, rule.name))

    def _refuse(self, position: int, rule: Rule, value: Any, flaw: Flawed) -> None:
        message = f"{self.flat.ids[position]}.{rule.name} got {shown(value)}; it takes {flaw.takes}. {flaw.advice}"
        self.report.note(position, flaw.code, message, rule.name)

    def _unknown_port(self, position: int, name: str, profile: Profile) -> None:
        known = self.report.near(name, [port.name for port in profile.spec.inputs]) or " It has no inputs."
        self.report.note(
            position, "unknown_port", f'{self.flat.ids[position]} ({profile.spec.id}) has no input "{name}".{known}', name
        )

    def _linked_file(self, position: int, rule: Rule) -> None:
        message = f"{self.flat.ids[position]}.{rule.name} is linked; it takes {describe(rule)}. Choose the file there."
        self.report.note(position, "file_linked", message, rule.name)

    def _missing(self, position: int, profile: Profile, inputs: Mapping[str, Any]) -> None:
        given = {rule.name for name in inputs if (rule := profile.rules.get(name)) is not None}
        for port in profile.spec.inputs:
            if port.name in profile.required and port.name not in given:
                rule = profile.rules[port.name]
                advice = "Set it or link it" if rule.exact or rule.hint else f"Link an output of type {port.type} to it"
                message = f"{self.flat.ids[position]}.{port.name} has no value; it takes {describe(rule)}. {advice}."
                self.report.note(position, "missing_input", message, port.name)

    def _twice(self, position: int, profile: Profile, inputs: Mapping[str, Any]) -> None:
        seen: dict[str, str] = {}
        for name in inputs:
            rule = profile.rules.get(name)
            if rule is not None and seen.setdefault(rule.name, name) != name:
                message = (
                    f"{self.flat.ids[position]} sets {rule.name} twice, as {seen[rule.name]} and as {name}. Keep {rule.name}."
                )
                self.report.note(position, "input_twice", message, rule.name)

    # Named inputs and outputs.

    def _read_outputs(self) -> None:
        for name, output in self.document.outputs.items():
            node, _, port = self.flat.source(output.source).partition(".")
            position = self.index.get(node)
            if position is None:
                known = self.report.near(node, self.document.nodes) if node not in self.flat.instances else ""
                message = f'Output {name} comes from "{output.source}", which is not there.{known} Name the output of a node.'
                self.report.note_whole("bad_named_output", message, name)
                continue
            profile = self.profiles[position]
            if profile is None:
                self.outputs[name] = Link(position, 0)
                continue
            found = profile.outputs.get(port)
            if found is None:
                known = self.report.near(port, profile.outputs) or " It has no outputs; name another node."
                message = f'Output {name} comes from "{output.source}", and {profile.spec.id} has no output "{port}".{known}'
                self.report.note_whole("bad_named_output", message, name)
                continue
            self.outputs[name] = Link(position, found)

    def _check_named_inputs(self) -> None:
        taken: dict[tuple[str, str], str] = {}
        for name, named in self.document.inputs.items():
            for target in named.to:
                self._check_target(name, target)
                for reached in self.flat.targets(target):
                    if taken.setdefault(reached, name) != name:
                        message = f'Named inputs {taken[reached]} and {name} both go to "{target}". Keep one of them.'
                        self.report.note_whole("bad_named_input", message, name)

    def _check_target(self, name: str, target: str) -> None:
        node, _, port = target.partition(".")
        found = self.document.nodes.get(node)
        if found is None:
            known = self.report.near(node, self.document.nodes)
            self.report.note_whole(
                "bad_named_input", f'Named input {name} goes to "{target}", and no node is called "{node}".{known}', name
            )
            return
        value = found.inputs.get(port)
        if type(value) is dict and "link" in value:
            message = f'Named input {name} goes to "{target}", which is linked to {shown(value["link"])}. Remove the link or the target.'
            self.report.note_whole("bad_named_input", message, name)
        instance = self.flat.instances.get(node)
        if instance is not None and port not in instance.inputs:
            known = self.report.near(port, instance.inputs)
            message = f'Named input {name} goes to "{target}", and {found.type} has no input "{port}".{known}'
            self.report.note_whole("bad_named_input", message, name)
        for inner, inner_port in self.flat.targets(target):
            position = self.index.get(inner)
            profile = self.profiles[position] if position is not None else None
            if profile is None:
                continue
            rule = profile.rules.get(inner_port)
            if rule is None:
                known = self.report.near(inner_port, profile.rules)
                message = f'Named input {name} goes to "{target}", and {profile.spec.id} has no input "{inner_port}".{known}'
                self.report.note_whole("bad_named_input", message, name)
            elif rule.exact is None and rule.hint is None and not _takes_literal(rule):
                message = f'Named input {name} goes to "{target}", which takes a {rule.type} and no literal. Choose another port.'
                self.report.note_whole("bad_named_input", message, name)

    # The order for the second pass.

    def _sort(self) -> list[int]:
        successors: list[list[int]] = [[] for _ in self.links]
        for position, links in enumerate(self.links):
            for link in links.values():
                successors[link.node].append(position)
        order = topology.order(successors)
        if len(order) < len(successors):
            self._cycle(topology.find_cycle(successors))
        return order

    def _cycle(self, cycle: list[int]) -> None:
        names = [self.flat.ids[position] for position in cycle]
        if len(names) > 10:
            names = [*names[:8], f"... ({len(names) - 9} more)", names[-1]]
        path = " -> ".join([*names, self.flat.ids[cycle[0]]])
        self.report.note(cycle[0], "cycle", f"These nodes wait for each other: {path}. Remove one of the links.")


def _takes_literal(rule: Rule) -> bool:
    return rule.type.is_generic or rule.type.name in PLAIN_NAMES.values()
