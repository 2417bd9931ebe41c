"""What really comes through each link: types, lists and generics followed through a workflow, and what is not there.

One walk in topological order. A list that enters a single port maps the node, so that its outputs are lists; a letter
T becomes the type that is linked or written; a muted node takes its dependants with it; a bypassed node hands a value on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from graph.document import Node
from graph.literals import Profile
from graph.report import Report
from graph.types import PLAIN_NAMES, Plain, TypeRef, fits

Types: TypeAlias = tuple[TypeRef, ...]


class Link(NamedTuple):
    """Where a linked port gets its value: position of the upstream node, position of its output."""

    node: int
    port: int


class Flow:
    """The walk and what it finds. Lists go by position; `literals` and `links` are brought up to date on the way."""

    def __init__(
        self,
        ids: Sequence[str],
        nodes: Sequence[Node],
        profiles: Sequence[Profile | None],
        literals: list[dict[str, Plain]],
        links: list[dict[str, Link]],
        outputs: dict[str, Link],
        intern: Callable[[TypeRef], TypeRef],
        report: Report,
    ) -> None:
        self.ids, self.nodes, self.profiles, self.literals, self.links = ids, nodes, profiles, literals, links
        self.outputs, self.intern, self.report = outputs, intern, report
        #: What each output carries; None where the type of the node is unknown or the node is not there.
        self.types: list[Types | None] = [None] * len(ids)
        self.mapped: list[frozenset[str] | None] = [None] * len(ids)
        #: Why a node is not there, why an output is not, and what a bypassed output hands on.
        self.gone: dict[int, str] = {}
        self.lost: dict[Link, str] = {}
        self.forward: dict[Link, Link] = {}
        #: Nodes that cannot run because what they need is muted, with the reason.
        self.skipped: dict[str, str] = {}
        self.has_states = any(node.state is not None for node in nodes)
        self.used: set[Link] = set()
        if self.has_states:
            self.used = {link for ports in links for link in ports.values()} | set(outputs.values())

    def run(self, order: Sequence[int]) -> None:
        """Type every output, and check every link against the type that really comes through it."""
        types_of, links_of, profiles, mapped_of = self.types, self.links, self.profiles, self.mapped
        for position in order:
            if self.has_states:
                self._settle_links(position)
            profile = profiles[position]
            if profile is None or position in self.gone:
                continue
            if profile.generic:
                self._follow_generic(position, profile)
            else:
                rules = profile.rules
                mapped: list[str] = []
                for name, link in links_of[position].items():
                    sources = types_of[link.node]
                    if sources is not None:
                        wanted = rules[name].type
                        source = sources[link.port]
                        if source is not wanted and self._fit(position, name, source, wanted) == "map":
                            mapped.append(name)
                if mapped:
                    mapped_of[position] = frozenset(mapped)
                    self._check_nesting(position, profile.types)
                    types_of[position] = profile.list_types
                else:
                    types_of[position] = profile.types
            if self.has_states and self.nodes[position].state == "bypassed":
                self._bypass(position, profile)

    def _fit(self, position: int, port: str, source: TypeRef, wanted: TypeRef) -> str:
        fit = fits(source, wanted)
        if fit == "no":
            advice = "Link a list of it" if wanted.is_list and source.name == wanted.name else f"Link an output of type {wanted}"
            where = f"{self.ids[position]}.{port}"
            message = f"{where} is linked to {self._shown_source(position, port)} of type {source}; it takes {wanted}. {advice}."
            self.report.note(position, "wrong_link_type", message, port)
        return fit

    def _shown_source(self, position: int, port: str) -> str:
        link = self.links[position][port]
        profile = self.profiles[link.node]
        return f"{self.ids[link.node]}.{profile.spec.outputs[link.port].name}" if profile else self.ids[link.node]

    def _check_nesting(self, position: int, types: Types) -> None:
        profile = self.profiles[position]
        for place, ref in enumerate(types):
            if ref.is_list and profile is not None:
                name = f"{self.ids[position]}.{profile.spec.outputs[place].name}"
                message = (
                    f"{name} would give a list of lists: it runs once per element and gives {ref} each time. Join or pick first."
                )
                self.report.note(position, "nested_list", message, profile.spec.outputs[place].name)

    def _follow_generic(self, position: int, profile: Profile) -> None:
        """One letter, one type: all ports T of a node carry the same, and so do its outputs T."""
        bound: dict[str, dict[str, str]] = {}  # letter -> type name -> the first port that brought it
        mapped: list[str] = []
        for name, link in self.links[position].items():
            wanted = profile.rules[name].type
            sources = self.types[link.node]
            if sources is None:
                continue
            source = sources[link.port]
            if source is not wanted and self._fit(position, name, source, wanted) == "map":
                mapped.append(name)
            if wanted.is_generic and not source.is_generic:
                bound.setdefault(wanted.name, {}).setdefault(source.name, name)
        for name, value in self.literals[position].items():
            wanted = profile.rules[name].type
            if wanted.is_generic and value is not None:
                for element in value if isinstance(value, list) else [value]:
                    bound.setdefault(wanted.name, {}).setdefault(PLAIN_NAMES[type(element)], name)
        chosen = {letter: self._bind(position, profile, letter, types) for letter, types in bound.items()}
        outputs = tuple(self.intern(TypeRef(chosen.get(ref.name, ref.name), ref.is_list)) for ref in profile.types)
        if mapped:
            self.mapped[position] = frozenset(mapped)
            self._check_nesting(position, outputs)
            outputs = tuple(self.intern(TypeRef(ref.name, True)) for ref in outputs)
        self.types[position] = outputs

    def _bind(self, position: int, profile: Profile, letter: str, types: dict[str, str]) -> str:
        if types.keys() == {"int", "float"}:
            literals = self.literals[position]
            for name in literals:
                if profile.rules[name].type.name == letter:
                    literals[name] = _as_float(literals[name])
            return "float"
        if len(types) > 1:
            parts = " and ".join(f"{kind} at {port}" for kind, port in types.items())
            name = self.ids[position]
            message = f"{name} got {parts}; these inputs take values of one type. Give all of them the same type."
            self.report.note(position, "mixed_types", message, list(types.values())[-1])
        return next(iter(types))

    # Muted and bypassed nodes.

    def _settle_links(self, position: int) -> None:
        """Follow bypasses, drop links to what is not there, and decide whether the node can still run."""
        name, node = self.ids[position], self.nodes[position]
        if node.state == "muted":
            self.gone[position] = f"{name} is muted"
            return
        profile = self.profiles[position]
        links = self.links[position]
        for port, declared in list(links.items()):
            link = links[port] = self.forward.get(declared, declared)
            reason = self.lost.get(link) or self.gone.get(link.node)
            if reason is None:
                continue
            del links[port]
            if profile is None:
                continue
            if port in profile.defaults:
                self.literals[position][port] = profile.defaults[port]
            if port in profile.required and node.state is None and position not in self.gone:
                self.gone[position] = reason  # the first cause, so that a long chain does not pile up reasons
                self.skipped[name] = f"{name}.{port} has no value, because {reason}"
            if node.state == "bypassed":
                self.lost.setdefault(Link(position, -1), reason)

    def _bypass(self, position: int, profile: Profile) -> None:
        """Tie each output to the first linked input, in signature order, whose type fits it."""
        types, name = self.types[position] or (), self.ids[position]
        reason = self.lost.get(Link(position, -1))
        for place, output in enumerate(profile.spec.outputs):
            own = Link(position, place)
            source = self._first_fitting(position, profile, types[place])
            if source is not None:
                self.forward[own] = source
            elif reason is not None:
                self.lost[own] = reason
            elif own in self.used:
                message = (
                    f"{name} is bypassed, and no linked input of it fits its output {output.name} of type {types[place]}. "
                    f"Link such an input, or mute it instead."
                )
                self.report.note(position, "bypass_without_input", message, output.name)
        self.gone[position] = f"{name} is bypassed and hands nothing on"

    def _first_fitting(self, position: int, profile: Profile, wanted: TypeRef) -> Link | None:
        links = self.links[position]
        for port in profile.spec.inputs:
            link = links.get(port.name)
            if link is None:
                continue
            sources = self.types[link.node]
            if sources is None or fits(sources[link.port], wanted) == "direct":
                return link
        return None

    def settled_outputs(self) -> Iterator[tuple[str, Link | None, str]]:
        """Each named output with where its value comes from, or None and the reason."""
        for name, declared in self.outputs.items():
            link = self.forward.get(declared, declared)
            reason = self.lost.get(link) or self.gone.get(link.node)
            skipped = self.skipped.get(self.ids[link.node], reason)
            yield name, (None if reason else link), skipped or ""


def _as_float(value: Plain) -> Plain:
    if isinstance(value, list):
        return [_as_float(element) for element in value]
    return float(value) if type(value) is int else value
