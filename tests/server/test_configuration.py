"""The settings of a server: which source wins, and what a bad value is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from server.configuration import Settings, WebhookTarget, load_settings, sources
from server.settings import WrongUsage


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("LATENTGRAPH_HOME", raising=False)
    return tmp_path


def write(folder: Path, text: str) -> Path:
    path = folder / "settings.toml"
    path.write_text(text)
    return path


def test_flag_beats_variable_beats_file_beats_default(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(folder, 'port = 1\nhost = "127.0.0.2"\ndrain_s = 5\n')
    monkeypatch.setenv("LATENTGRAPH_PORT", "2")
    monkeypatch.setenv("LATENTGRAPH_HOST", "127.0.0.3")
    loaded = load_settings(folder, {"port": 3, "host": None})
    assert (loaded.settings.port, loaded.settings.host, loaded.settings.drain_s, loaded.settings.images_wait_s) == (
        3,
        "127.0.0.3",
        5.0,
        90.0,
    )
    found = {one.name: one.source for one in loaded.sources}
    assert [found[name] for name in ("port", "host", "drain_s", "images_wait_s")] == [
        "--port",
        "LATENTGRAPH_HOST",
        str(path),
        "default",
    ]
    assert set(found) == set(Settings.model_fields)


def test_every_setting_has_a_docstring() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []


def test_lists_and_tables_are_read_from_each_source(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, 'hosts = ["a.example"]\n[time_limits_s]\nslow = 9.5\n')
    assert load_settings(folder, {}).settings.hosts == ("a.example",)
    assert load_settings(folder, {}).settings.time_limits_s == {"slow": 9.5}
    monkeypatch.setenv("LATENTGRAPH_HOSTS", "B.example, c.example:8443")
    monkeypatch.setenv("LATENTGRAPH_TIME_LIMITS_S", '{"other": 2}')
    assert load_settings(folder, {}).settings.hosts == ("b.example", "c.example:8443")
    assert load_settings(folder, {}).settings.time_limits_s == {"other": 2.0}
    assert load_settings(folder, {"hosts": ("d",)}).settings.hosts == ("d",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prot = 1", '"prot", which is no setting. Did you mean "port"?'),
        ("port = 70000", "gives port = 70000, which cannot be used: Input should be less than or equal to 65535"),
        ('port = "x"', "gives port = 'x', which cannot be used"),
        ("drain_s = 0", "Write for example drain_s = 30.0."),
        ("drain_s = nan", "gives drain_s = nan, which cannot be used"),
        ('origins = ["canvas.example"]', "an origin is scheme, host and port in small letters, as https://canvas.example"),
        ('origins = ["https://canvas.example/"]', "an origin is scheme, host and port"),
        ('hosts = ["http://x"]', "a host is a name or an address"),
        ('hosts = ["*"]', "a host is a name or an address"),
        ('log_level = "loud"', "Input should be 'debug', 'info', 'warning' or 'error'"),
        ("port = ", "is no valid TOML"),
        ('[webhooks.done]\nurl = "ftp://x"\nsecret = "0123456789abcdef"', "gives webhooks.done.url, which cannot be used"),
        ('[webhooks.done]\nurl = "https://x"\nsecret = "hunter2"', "gives webhooks.done.secret, which cannot be used"),
        ('[webhooks.done]\nurl = "https://x"\nsecret = "0123456789abcdef"\nmore = 1', "gives webhooks.done.more"),
    ],
)
def test_a_bad_value_is_told_with_its_file_and_what_to_write(folder: Path, text: str, message: str) -> None:
    path = write(folder, text)
    with pytest.raises(WrongUsage) as error:
        load_settings(folder, {})
    assert message in str(error.value)
    assert str(path) in str(error.value)
    assert "hunter2" not in str(error.value)
    assert "0123456789abcdef" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "text"), [("LATENTGRAPH_PORT", "x"), ("LATENTGRAPH_TIME_LIMITS_S", "{"), ("LATENTGRAPH_HOSTS", "a/b")]
)
def test_a_bad_variable_is_told_by_its_name(folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str) -> None:
    monkeypatch.setenv(name, text)
    with pytest.raises(WrongUsage, match=r"LATENTGRAPH_|time_limits_s"):
        load_settings(folder, {})


@pytest.mark.spec("L10")
def test_a_secret_is_shown_nowhere(folder: Path) -> None:
    write(folder, '[webhooks.done]\nurl = "https://example.test/x"\nsecret = "0123456789abcdef"')
    settings = load_settings(folder, {}).settings
    assert settings.webhooks == {"done": WebhookTarget(url="https://example.test/x", secret=SecretStr("0123456789abcdef"))}
    shown: list[Any] = [settings, repr(settings), settings.model_dump_json(), sources(folder)]
    assert "0123456789abcdef" not in " ".join(map(str, shown))
    assert next(one for one in sources(folder) if one.name == "webhooks").value == "done=***"


def test_other_variables_of_ours_are_no_settings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LATENTGRAPH_HOME", "/x")
    monkeypatch.setenv("LATENTGRAPH_MODELS", "/y")
    loaded = load_settings(folder, {})
    assert (loaded.settings, loaded.warnings) == (Settings(), ())


def test_a_mistyped_variable_is_told_with_the_nearest(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LATENTGRAPH_PROT", "9")
    monkeypatch.setenv("LATENTGRAPH_PORT", "8")
    monkeypatch.setenv("latentgraph_model", "/x")
    loaded = load_settings(folder, {})
    assert loaded.settings.port == 8
    assert loaded.warnings == (
        'LATENTGRAPH_PROT does nothing here: there is no setting "prot". Did you mean "port"? Rename or unset it.',
        'latentgraph_model does nothing here: there is no setting "model". Did you mean "models"? Rename or unset it.',
    )
