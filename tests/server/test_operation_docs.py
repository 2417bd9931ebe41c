"""What docs/ says of running the server is true: settings, commands, unit and image."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from typer.main import get_command

from server.backup import FILES, FOLDERS, JOBS
from server.cli import app
from server.configuration import PREFIX, Settings
from server.report import DONE, FAILED, INVALID
from server.serve import AT_ONCE
from server.settings import HOME_VARIABLE
from server.settings_table import settings_table, with_table

ROOT = Path(__file__).parents[2]
OPERATION = (ROOT / "docs" / "operation.md").read_text(encoding="utf-8")
UNIT = ROOT / "docs" / "latentgraph.service"
DOCKERFILE = (ROOT / "docs" / "Dockerfile").read_text(encoding="utf-8")


def test_the_table_of_settings_is_that_of_the_program() -> None:
    """If not: python -m server.settings_table docs/operation.md"""
    assert with_table(OPERATION) == OPERATION
    assert settings_table() in OPERATION
    assert settings_table().count("\n") == len(Settings.model_fields) + 2
    assert all(field.description for field in Settings.model_fields.values())


def test_the_example_of_a_settings_file_can_be_used() -> None:
    (example,) = re.findall(r"```toml\n(.*?)```", OPERATION, re.DOTALL)
    settings = Settings(**tomllib.loads(example))
    assert settings.time_limits_s == {"denoise": 600}
    assert settings.webhooks["studio"].secret.get_secret_value() == "at least sixteen characters"


def test_every_command_the_docs_name_exists() -> None:
    known = set(get_command(app).commands)  # type: ignore[attr-defined]  # a group
    named = set(re.findall(r"(?:^|`)latentgraph ([a-z]+)", OPERATION, re.MULTILINE))
    assert {"serve", "backup", "restore", "doctor"} <= named <= known


def test_the_docs_say_of_each_part_of_the_data_folder_whether_a_backup_has_it() -> None:
    table = OPERATION.partition("| in the data folder |")[2]
    kept = [line for line in table.splitlines() if line.startswith("|") and "| yes" in line]
    names = set(re.findall(r"`([a-z_.]+)/?`", " ".join(line.split("|")[1] for line in kept)))
    assert names == {JOBS, *FILES, *FOLDERS}


def test_the_docs_say_what_each_exit_code_of_the_server_means() -> None:
    table = OPERATION.partition("| exit code |")[2].partition("\n\n")[0]
    assert [int(code) for code in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)] == [DONE, FAILED, INVALID, AT_ONCE]


def unit_lines() -> dict[str, list[str]]:
    """Values by key, of all sections."""
    found: dict[str, list[str]] = {}
    for line in UNIT.read_text(encoding="utf-8").splitlines():
        if line and line[0] not in "#[":
            key, sign, value = line.partition("=")
            assert sign, line
            found.setdefault(key, []).append(value)
    return found


def test_the_unit_runs_without_rights_and_can_write_to_the_data_folder_only() -> None:
    found = unit_lines()
    assert found["User"] == ["latentgraph"]
    assert found["ReadWritePaths"] == ["/var/lib/latentgraph"]
    assert found["Environment"] == [f"{HOME_VARIABLE}=/var/lib/latentgraph"]
    assert found["CapabilityBoundingSet"] == found["AmbientCapabilities"] == [""]
    for key, value in {
        "ProtectSystem": "strict", "ProtectHome": "yes", "PrivateTmp": "yes", "NoNewPrivileges": "yes", "UMask": "0077",
        "ProtectKernelTunables": "yes", "ProtectKernelModules": "yes", "ProtectControlGroups": "yes", "LockPersonality": "yes",
        "RestrictNamespaces": "yes", "RestrictSUIDSGID": "yes", "SystemCallFilter": "@system-service", "Restart": "on-failure",
        "RestartPreventExitStatus": str(INVALID), "RestrictAddressFamilies": "AF_INET AF_INET6 AF_UNIX", "KillMode": "mixed", "StandardOutput": "null",
    }.items():  # fmt: skip
        assert found[key] == [value], key
    assert int(found["TimeoutStopSec"][0]) > Settings.model_fields["drain_s"].default + 30
    assert shlex.split(found["ExecStart"][0])[1:] == ["serve"]


@pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="needs systemd-analyze; the lines are checked without it above"
)
def test_systemd_finds_nothing_to_say_against_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / UNIT.name
    unit.write_text(re.sub(r"^ExecStart=.*$", "ExecStart=/bin/true", UNIT.read_text(encoding="utf-8"), flags=re.MULTILINE))
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def instructions() -> list[tuple[str, str]]:
    """The Dockerfile's instructions: name and arguments, continued lines joined."""
    joined = re.sub(r"\\\n", " ", "\n".join(line for line in DOCKERFILE.splitlines() if not line.startswith("#")))
    return [(name, " ".join(rest.split())) for name, _, rest in (line.partition(" ") for line in joined.splitlines() if line)]


def test_the_image_is_made_of_what_is_there_and_runs_without_rights() -> None:
    found = instructions()
    names = [name for name, _ in found]
    assert set(names) <= {"FROM", "RUN", "WORKDIR", "COPY", "ARG", "ENV", "USER", "VOLUME", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD"}  # fmt: skip
    assert names[0] == "FROM"
    by_name = dict(found)
    assert by_name["USER"].isdecimal()
    assert int(by_name["USER"]) > 0
    last = max(at for at, name in enumerate(names) if name == "FROM")
    assert last < max(at for at, name in enumerate(names) if name in ("RUN", "COPY")) < names.index("USER")
    assert (by_name["VOLUME"], by_name["EXPOSE"], by_name["STOPSIGNAL"]) == ("/data", "8765", "SIGTERM")
    copies = [rest.split() for name, rest in found if name == "COPY"]
    sources = [source for copy in copies if not copy[0].startswith("--from=") for source in copy[:-1]]
    assert sources
    assert all((ROOT / source).exists() for source in sources)
    assert json.loads(by_name["ENTRYPOINT"]) == ["latentgraph"]
    assert json.loads(by_name["CMD"]) == ["serve"]
    assert "/healthz" in json.loads(by_name["HEALTHCHECK"].partition("CMD ")[2])[2]


def test_the_image_sets_only_settings_that_exist_and_no_secret() -> None:
    (variables,) = [dict(part.split("=", 1) for part in rest.split()) for name, rest in instructions() if name == "ENV"]
    ours = {name.removeprefix(PREFIX).lower(): value for name, value in variables.items() if name.startswith(PREFIX)}
    assert ours.pop("home") == "/data"
    Settings(**ours)
    assert not re.search(r"token|secret|password", DOCKERFILE, re.IGNORECASE)


def test_who_finds_a_weakness_is_told_where_to_say_so_and_when_an_answer_comes() -> None:
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    assert "answer within 3 working days" in " ".join(text.split())
    assert "Node packs" in text
