"""The settings of a server: defaults, then HOME/settings.toml, then LATENTGRAPH_* variables, then flags.

Units stand in the names. Read once at start; nothing changes them while the server runs. The data folder itself is no
setting: it is where they lie (`server.settings.home_folder`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    NoDecode,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError,
    TomlConfigSettingsSource,
)

from graph.errors import nearest
from server.api.connections import Limits
from server.settings import DEFAULT_HOST, DEFAULT_PORT, FLAGS, WrongUsage
from server.usable import Given

# Any, in this module: plain values as they stand in a file.

PREFIX: Final = "LATENTGRAPH_"
FILE: Final = "settings.toml"
MIB: Final = 1024 * 1024

#: Variables of ours that are no settings: two that the README names, the others for work on the program itself.
OTHER_VARIABLES: Final = ("home", "models", "url", "long", "python", "bench_rows")


def _listed(value: Any) -> Any:
    """ "a, b" as a variable or a flag has it."""
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


def _origin(value: str) -> str:
    scheme, slashes, rest = value.partition("://")
    if scheme not in ("http", "https") or not slashes or not rest or "/" in rest or value != value.lower():
        raise ValueError("an origin is scheme, host and port in small letters, as https://canvas.example")
    return value


def _host_name(value: str) -> str:
    if not value or any(char in value for char in "/*@ ") or "://" in value:
        raise ValueError("a host is a name or an address, with or without a port, as canvas.example:8443")
    return value.lower()


Listed = NoDecode, BeforeValidator(_listed)
Seconds = Annotated[float, Field(gt=0, le=30 * 24 * 3600, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1, le=10**9)]
Bytes = Annotated[int, Field(ge=1024, le=2**50)]


class WebhookTarget(BaseModel):
    """Where a job may be told of: jobs give the name only."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: Annotated[str, Field(pattern=r"^https?://[^\s@]+$", max_length=2000)]
    secret: SecretStr = Field(min_length=16)
    #: Whether it may lie in a private network.
    private: bool = False


class Settings(BaseSettings):
    """Every setting of a server with its default."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="forbid", frozen=True, use_attribute_docstrings=True)

    host: Annotated[str, Field(min_length=1, max_length=255)] = DEFAULT_HOST
    """Address to listen on. Others than this machine's own need `hosts` (for 0.0.0.0 and ::)."""
    port: Annotated[int, Field(ge=0, le=65535)] = DEFAULT_PORT
    """Port to listen on; 0 takes any that is free."""
    hosts: Annotated[tuple[Annotated[str, AfterValidator(_host_name)], ...], *Listed] = ()
    """Further names that the server is called by (exact, with or without a port): a proxy's, this machine's on the network."""
    origins: Annotated[tuple[Annotated[str, AfterValidator(_origin)], ...], *Listed] = ()
    """Further origins of its own page, as https://canvas.example behind a proxy. Exact."""
    devices: str | None = None
    """Devices to use: cpu, cpu:0,cpu:1, cuda:0, ... Without it the machine's GPUs, else its CPU."""
    packs: bool = True
    """Whether installed packs of nodes count."""
    reload_nodes: bool = False
    """Whether the engine starts again when the source of a node changes: for who writes nodes."""
    workflows_folder: Path | None = None
    """A folder of saved workflows beside the data folder's; new ones go there."""
    output_folder: Path | None = None
    """Where saved pictures go; without it `outputs` in the data folder."""

    max_body_bytes: Bytes = 4 * MIB
    """A JSON body may be so long."""
    max_upload_bytes: Bytes = 500_000_000
    """An uploaded file may be so long."""
    max_uploads_bytes: Bytes = 20_000_000_000
    """All uploads together may take so much."""
    max_nodes: Count = 10_000
    """A workflow may have so many nodes."""
    max_pixels: Count = 64_000_000
    """An uploaded picture may have so many pixels."""
    max_queued_jobs: Count = 10_000
    """So many jobs may wait."""
    max_queued_s: Seconds = 24 * 3600.0
    """Waiting jobs may have so many estimated device-seconds together; a further one is refused (429)."""
    keep_jobs: Count = 10_000
    """So many ended jobs are kept; the oldest go first. Those that a webhook is still to tell of stay, up to as many again."""
    min_free_bytes: Annotated[int, Field(ge=0, le=2**50)] | None = None
    """Below so much free space jobs and uploads are refused (507). Without it 1 GiB or 2 % of the disk, whichever is less."""

    time_limit_s: Seconds = 3600.0
    """A node may run so long; then its job fails."""
    time_limits_s: dict[str, Seconds] = {}
    """The same for single node types, by name."""
    heartbeat_s: Seconds = 2.0
    """How often the engine is asked whether it lives."""
    heartbeat_lost_s: Seconds = 15.0
    """An engine that has not answered for so long is killed and started anew."""
    cancel_grace_s: Seconds = 10.0
    """A cancelled node may go on so long; then its process is killed."""
    worker_silent_s: Seconds = 30.0
    """A worker process that has not answered for so long is killed: it is stopped, or native code keeps it from hearing."""
    drain_s: Seconds = 30.0
    """Running jobs may go on so long when the server is told to stop."""
    images_wait_s: Seconds = 90.0
    """/v1/images answers within this time, or says that the job goes on."""

    header_s: Seconds = Limits().header_s
    """The headers of a request must come within this time."""
    idle_s: Seconds = Limits().idle_s
    """A connection without a request is kept so long."""
    write_stall_s: Seconds = Limits().write_stall_s
    """A client that takes nothing for so long is dropped."""
    body_grace_s: Seconds = 10.0
    """The first byte of a body must come within this time."""
    body_bytes_per_s: Annotated[float, Field(gt=0, le=1e9)] = 1000.0
    """From then on a body must come this fast on average."""
    max_connections: Count = Limits().max_connections
    """So many connections at a time; fewer where the system allows too few open files, which `latentgraph doctor` tells."""
    max_connections_per_address: Count = Limits().max_connections_per_address
    """So many of one address; this machine's own may have `max_connections`."""

    webhooks: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]{0,63}$")], WebhookTarget] = {}
    """Where jobs may be told of: name = { url, secret }, with private = true for one in a private network (see Webhooks)."""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    """What is logged."""
    metrics: bool = True
    """Whether /metrics is served."""

    def limits(self) -> Limits:
        """Those of connections."""
        return Limits(*(getattr(self, name) for name in Limits._fields))

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """`load_settings` has put the sources together and remembers which is which; nothing else is read on the way."""
        return (init_settings,)


class Source(NamedTuple):
    """Where a setting's value comes from."""

    name: str
    #: As it is shown; secrets are stars.
    value: str
    #: "default", the file's path, the variable's name or the flag.
    source: str


class Loaded(NamedTuple):
    """The settings, where each comes from, and what is worth a warning (sentences)."""

    settings: Settings
    sources: tuple[Source, ...]
    warnings: tuple[str, ...] = ()

    def given(self) -> dict[str, Given]:
        """Every setting by name, for `server.usable`."""
        return {name: Given(name, getattr(self.settings, name), source) for name, _, source in self.sources}


def load_settings(home: Path, flags: Mapping[str, Any]) -> Loaded:
    """The settings of a data folder. `flags` that are None do not count. Raises WrongUsage with what to mend."""
    given: dict[str, tuple[Any, str]] = {}
    given |= {name: (value, str(home / FILE)) for name, value in _of_file(home / FILE).items()}
    given |= {name: (value, f"{PREFIX}{name.upper()}") for name, value in _of_environment().items()}
    given |= {name: (value, FLAGS[name]) for name, value in flags.items() if value is not None}
    try:
        settings = Settings(**{name: value for name, (value, _) in given.items()})
    except ValidationError as error:
        raise _unusable(error, given) from None
    return Loaded(settings, tuple(_sources(settings, given)), tuple(_unknown_variables()))


def sources(home: Path) -> tuple[Source, ...]:
    """Where each setting comes from without flags, as `doctor` shows it. Raises WrongUsage with what to mend."""
    return load_settings(home, {}).sources


def _of_file(path: Path) -> dict[str, Any]:
    try:
        found = TomlConfigSettingsSource(Settings, path)()
    except OSError as error:
        raise WrongUsage(f"{path} cannot be read ({error.strerror}). Make it readable, or remove it.") from None
    except ValueError as error:  # no TOML, no UTF-8
        raise WrongUsage(f"{path} is no valid TOML: {error}. Mend it there, or remove the file.") from None
    for name in found:
        if name not in Settings.model_fields:
            advice = nearest(name, Settings.model_fields)
            raise WrongUsage(f'{path} has "{name}", which is no setting.{advice} Remove or rename it.')
    return found


def _of_environment() -> dict[str, Any]:
    """What LATENTGRAPH_* say; those that are no settings do not count (`_unknown_variables`)."""
    try:
        return EnvSettingsSource(Settings)()
    except SettingsError as error:
        raise WrongUsage(f"A variable LATENTGRAPH_* cannot be read: {error}. Write JSON there, or use {FILE}.") from None


def _unknown_variables() -> Iterable[str]:
    """A sentence on each variable that looks like ours and is none. They stop nothing: a pack may have its own."""
    known = (*Settings.model_fields, *OTHER_VARIABLES)
    for variable in sorted(os.environ):
        name = variable.lower().removeprefix(PREFIX.lower())
        if variable.upper().startswith(PREFIX) and name not in known:
            yield f'{variable} does nothing here: there is no setting "{name}".{nearest(name, known)} Rename or unset it.'


def _unusable(error: ValidationError, given: Mapping[str, tuple[Any, str]]) -> WrongUsage:
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    name = str(first["loc"][0])
    place = ".".join(str(step) for step in first["loc"])
    value, source = given[name]
    shown = "" if name == "webhooks" else f" = {value!r}"[:200]
    field = Settings.model_fields[name]
    message = first["msg"].removeprefix("Value error, ")
    example = f" Write for example {name} = {field.default!r}." if isinstance(field.default, (int, float)) else ""
    return WrongUsage(f"{source} gives {place}{shown}, which cannot be used: {message}. {field.description}{example}")


def _sources(settings: Settings, given: Mapping[str, tuple[Any, str]]) -> Iterable[Source]:
    for name in Settings.model_fields:
        value = getattr(settings, name)
        shown = (
            ", ".join(value)
            if isinstance(value, tuple)
            else ", ".join(f"{key}=***" for key in value)
            if name == "webhooks"
            else str(value)
        )
        yield Source(name, shown, given[name][1] if name in given else "default")
