"""Nothing that was read becomes code: no such call stands in the source, and none happens while a workflow runs."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from graph.compile import compile_document
from graph.document import document_from_json
from graph.engine import Engine
from graph.errors import WorkflowError
from graph.registry import Registry
from nodes.builtin import MODULES
from tests.graph.engine_kit import Lab, n, workflow

ROOT = Path(__file__).parents[1]
LAYERS = ("graph", "nodes", "server")

#: What is never imported: it runs what it reads, or it unpacks what it is told.
FORBIDDEN = {
    "pickle", "cPickle", "_pickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "yaml", "code", "codeop", "pty",
    "telnetlib", "ftplib", "xmlrpc", "xml", "lxml", "jinja2", "mako", "tarfile", "zipfile", "commands", "imp", "runpy",
}  # fmt: skip
#: `marshal.dumps` makes bytes of code for a digest; nothing is loaded.
IMPORTED_ALL_THE_SAME = {("graph/registry.py", "marshal")}
#: Names called as they are.
BUILTINS = {"eval", "exec", "compile", "__import__", "execfile", "input", "breakpoint"}
#: Last name of a call, and what may stand before it (None: anything).
CALLS: dict[str, set[str] | None] = {
    "load": {"torch", "pickle", "dill", "joblib", "np", "numpy", "marshal", "yaml"},
    "loads": {"pickle", "dill", "cloudpickle", "marshal", "yaml"},
    "system": {"os"}, "popen": {"os"}, "spawnl": None, "spawnv": None, "execv": None, "execve": None, "execvp": None,
    "extractall": None, "extract": None, "unpack_archive": None, "mktemp": None, "tmpnam": None, "tempnam": None,
    "hub": {"torch"}, "load_state_dict_from_url": None, "hf_hub_download": None, "snapshot_download": None, "urlretrieve": None,
    "urlopen": None, "post": {"request", "call"}, "add_static": None, "from_string": None, "create_module": None,
    "interact": None, "set_trace": None, "format_map": None, "literal_eval": None, "apply_chat_template": None,
    "md5": None, "sha1": None, "create_subprocess_shell": None, "getoutput": None, "getstatusoutput": None, "DiffusionPipeline": None,
}  # fmt: skip
#: Arguments by name that no call has with this value.
ARGUMENTS = {"shell": True, "trust_remote_code": True, "allow_pickle": True, "weights_only": False, "custom_pipeline": ..., "use_safetensors": False,
             "local_files_only": False}  # fmt: skip


def files() -> Iterator[tuple[str, ast.Module]]:
    for layer in LAYERS:
        for path in sorted((ROOT / layer).rglob("*.py")):
            yield path.relative_to(ROOT).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def dotted(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join(reversed([*parts, node.id if isinstance(node, ast.Name) else "?"]))


def wrong_import(file: str, node: ast.AST) -> str | None:
    names = (
        [alias.name for alias in node.names]
        if isinstance(node, ast.Import)
        else [node.module or ""]
        if isinstance(node, ast.ImportFrom) and node.level == 0
        else []
    )
    found = [name.partition(".")[0] for name in names if name.partition(".")[0] in FORBIDDEN]
    return next((f"imports {name}" for name in found if (file, name) not in IMPORTED_ALL_THE_SAME), None)


def wrong_call(node: ast.AST) -> str | None:
    if not isinstance(node, ast.Call):
        return None
    if isinstance(node.func, ast.Name) and node.func.id in BUILTINS:
        return f"calls {node.func.id}"
    name = dotted(node.func)
    before, _, last = name.rpartition(".")
    if before and last in CALLS and (CALLS[last] is None or before.rpartition(".")[2] in CALLS[last]):  # type: ignore[operator]
        return f"calls {name}"
    if last == "format" and isinstance(node.func, ast.Attribute) and not isinstance(node.func.value, ast.Constant):
        return f"calls {name}, whose text may be a user's"
    for keyword in node.keywords:
        forbidden = ARGUMENTS.get(keyword.arg or "")
        if forbidden is not None and (
            forbidden is ... or (isinstance(keyword.value, ast.Constant) and keyword.value.value is forbidden)
        ):
            return f"calls {name} with {keyword.arg}"
    return None


#: The miniature's training, a tool of those who work on it, which no node and no command of a user's calls: captions made of
#: templates that stand in that file, its own checkpoint (with `weights_only`), and the template that it gives its tokenizer.
OF_OUR_OWN = {
    ("nodes/mini/train.py", "calls self.tokenizer.apply_chat_template"),
    ("nodes/mini/data.py", "calls template.format, whose text may be a user's"),
    ("nodes/mini/train.py", "calls torch.load"),
}


@pytest.mark.spec("R-M02", "R-P07")
@pytest.mark.proves(19, 20)
def test_no_source_file_runs_what_it_reads() -> None:
    found = [
        (file, node.lineno, wrong)  # type: ignore[attr-defined]  # calls and imports have a line
        for file, tree in files()
        for node in ast.walk(tree)
        if (wrong := wrong_import(file, node) or wrong_call(node)) is not None
    ]
    assert [f"{file}:{line} {wrong}" for file, line, wrong in found if (file, wrong) not in OF_OUR_OWN] == []


@pytest.mark.parametrize(
    "source",
    [
        "import pickle", "from pickle import loads", "import yaml", "eval('1')", "exec(x)", "compile(x, '', 'exec')", "torch.load(p)",
        "numpy.load(p)", "np.load(p, allow_pickle=True)", "os.system(x)", "subprocess.run(x, shell=True)", "archive.extractall()",
        "a.from_pretrained(p, trust_remote_code=True)", "a.from_pretrained(p, custom_pipeline=x)", "text.format(x)", "await request.post()",
        "tempfile.mktemp()", "tokenizer.apply_chat_template(x)", "from zipfile import ZipFile", "marshal.loads(x)",
    ],
)  # fmt: skip
def test_the_rule_sees_what_it_is_for(source: str) -> None:
    nodes = list(ast.walk(ast.parse(source)))
    assert any(wrong_import("x.py", node) or wrong_call(node) for node in nodes)


# ---- while a workflow runs ----

_WATCHED = """
import json, os, sys
root, home, document, out = sys.argv[1:5]
mine = tuple(os.path.join(root, layer) + os.sep for layer in ("graph", "nodes", "server"))
heard = []

def caller():
    frame = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    return frame.f_code.co_filename if frame is not None else ""

def hook(event, arguments):
    if event == "pickle.find_class":
        heard.append([event, str(arguments[:2])[:200]])
    elif event in ("socket.connect", "socket.getaddrinfo", "socket.sendto", "os.system", "os.exec", "os.posix_spawn", "marshal.loads", "ctypes.dlopen"):
        if event == "marshal.loads" and sys._getframe(1).f_code.co_filename.startswith("<frozen importlib"):
            return  # an import reads its compiled file
        if event in ("marshal.loads", "ctypes.dlopen") and not caller().startswith(mine):
            return
        if event == "ctypes.dlopen" and arguments[0] is None:
            return  # the C library that this process has already
        heard.append([event, str(arguments)[:200]])
    elif event == "subprocess.Popen":
        if str(arguments[0]) != sys.executable:
            heard.append([event, str(arguments[:2])[:200], caller()])
    elif event == "exec":
        name = getattr(arguments[0], "co_filename", "?")
        if caller().startswith(mine) and not os.path.isfile(name):
            heard.append([event, name])
    elif event == "compile":
        if caller().startswith(mine) and arguments[1] is not None and not os.path.isfile(str(arguments[1])):
            heard.append([event, str(arguments[1])])

sys.addaudithook(hook)
sys.path.insert(0, root)
os.environ.pop("HF_HUB_OFFLINE", None)  # what holds without anybody's setting
from pathlib import Path
from graph.engine import Engine
from graph.registry import Registry
from nodes.builtin import MODULES
from nodes.runtime import DeviceRuntime
with Engine(Registry.load(MODULES, packs=False), Path(home), runtime=lambda device, threads: DeviceRuntime(device, 1)) as engine:
    result = engine.run(engine.load(Path(document).read_text(encoding="utf-8")), output_folder=Path(out))
print(json.dumps({"state": result.state, "errors": [node.error for node in result.nodes if node.error], "heard": heard}))
"""

CODE = [
    "__import__('os').system('touch canary')", "{{7*7}}", "${7*7}", "`touch canary`", "$(touch canary)", "py:print(1)", "%(x)s {0.__class__}",
    "__class__.__mro__", "!!python/object/apply:os.system ['touch canary']", "cos\nsystem\n(S'touch canary'\ntR.", "<script>alert(1)</script>",
    "; import os; os.system('touch canary')", "{% for a in b %}", "\\x00\\u0000", "file:///etc/passwd", "../../../../etc/passwd",
]  # fmt: skip


def link(target: str) -> dict[str, str]:
    return {"link": target}


def mini(prompt: str, folder: str = "default") -> dict[str, object]:
    """The miniature's whole way, from a prompt to a saved picture, with a caption and a folder of a user's choice."""
    nodes = {
        "model": {"type": "load_pipeline", "inputs": {"model": "mini"}},
        "tokens": {"type": "tokenize", "inputs": {"prompt": prompt, "tokenizer": link("model.tokenizer")}},
        "text": {"type": "encode_text", "inputs": {"tokens": link("tokens.tokens"), "text_encoder": link("model.text_encoder")}},
        "kept": {"type": "disk_cache", "inputs": {"value": link("text.embedding"), "folder": folder}},
        "place": {"type": "empty_latents", "inputs": {"width": 64, "height": 64}},
        "sample": {
            "type": "denoise",
            "inputs": {
                "denoiser": link("model.denoiser"), "scheduler": link("model.scheduler"), "positive": link("kept.value"),
                "latents": link("place.latents"), "steps": 1, "seed": 5, "guidance": 0.0,
            },
        },
        "decode": {"type": "decode", "inputs": {"vae": link("model.vae"), "latents": link("sample.latents")}},
        "grid": {"type": "image_grid", "inputs": {"images": link("many.values"), "column_labels": prompt, "row_labels": prompt}},
        "many": {"type": "make_list", "inputs": {"first": link("decode.image")}},
        "save": {"type": "save_image", "inputs": {"image": link("grid.image")}},
    }  # fmt: skip
    return {
        "format": "latentgraph/workflow", "version": "1.0", "name": prompt, "description": prompt, "nodes": nodes,
        "outputs": {"file": {"from": "save.file", "label": prompt}}, "x-own": {prompt: prompt}, "view": {"title": prompt},
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.spec("R-M02", "R-M05", "R-M07")
@pytest.mark.proves(19)
def test_a_workflow_full_of_code_is_rendered_as_plain_text_and_nothing_is_run_fetched_or_unpickled(tmp_path: Path) -> None:
    document = tmp_path / "hostile.json"
    document.write_text(json.dumps(mini("\n".join(CODE))), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", _WATCHED, str(ROOT), str(tmp_path / "home"), str(document), str(tmp_path / "out")],
        capture_output=True, text=True, cwd=tmp_path, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert (told["state"], told["errors"]) == ("done", [])
    assert told["heard"] == []
    assert not (tmp_path / "canary").exists()
    assert not any(path.name == "canary" for path in tmp_path.rglob("*"))


@pytest.mark.spec("R-M07")
@pytest.mark.proves(19)
def test_text_that_looks_like_code_comes_out_as_it_went_in(tmp_path: Path) -> None:
    nodes = {f"w{at}": n("words", value=code) for at, code in enumerate(CODE)}
    with Lab(tmp_path / "home") as lab:
        outcome = lab.run(workflow(list(nodes), **nodes))
    assert outcome.outputs == {f"w{at}": code for at, code in enumerate(CODE)}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with Engine(Registry.load(MODULES, packs=False), tmp_path_factory.mktemp("code") / "home") as engine:
        yield engine


def with_code(place: str, code: str) -> dict[str, object]:
    """A workflow that holds a text where there is no place for one."""
    node: dict[str, object] = {"type": "text", "inputs": {"value": "x"}}
    nodes: dict[str, object] = {"a": node}
    output = "a.value"
    if place in ("type", "state"):
        node[place] = code
    elif place == "id":
        nodes = {code: node}
    elif place == "port":
        node["inputs"] = {"value": "x", code: 1}
    elif place == "link":
        node["inputs"] = {"value": link(code)}
    elif place == "folder":
        nodes = {"a": {"type": "disk_cache", "inputs": {"value": link("b.value"), "folder": code}}, "b": node}
    elif place == "model":
        nodes, output = {"a": {"type": "load_pipeline", "inputs": {"model": code}}}, "a.tokenizer"
    elif place == "file":
        nodes, output = {"a": {"type": "load_image", "inputs": {"file": {"file": "a.png", "sha256": code}}}}, "a.image"
    elif place == "output":
        output = code
    return {"format": "latentgraph/workflow", "version": "1.0", "nodes": nodes, "outputs": {"out": {"from": output}}}


@pytest.mark.spec("R-M07")
@pytest.mark.parametrize("place", ["type", "id", "port", "link", "output", "state", "folder", "model", "file"])
def test_code_in_every_other_place_is_refused(engine: Engine, place: str) -> None:
    for code in CODE:
        with pytest.raises(WorkflowError):
            engine.plan(compile_document(document_from_json(with_code(place, code)), engine.library.specs))
    assert not (Path.cwd() / "canary").exists()
