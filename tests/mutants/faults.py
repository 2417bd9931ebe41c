"""Deliberate faults: each is one small edit of the program that some test must notice.

A fault says what would go wrong for a user, the edit (`old` stands exactly once in the file), and the tests that must
fail with it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[2]


class Fault(NamedTuple):
    """One edit and the tests (pytest arguments) of which at least one must fail."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]

    def apply(self, root: Path) -> None:
        """Edit the file under `root`. Raises ValueError unless `old` stands there exactly once."""
        path = root / self.file
        text = path.read_text(encoding="utf-8")
        if text.count(self.old) != 1:
            raise ValueError(
                f"fault {self.name!r}: its text stands {text.count(self.old)} times in {self.file}, not once; mend the fault"
            )
        path.write_text(text.replace(self.old, self.new), encoding="utf-8")


MEMO, KEYS, LISTS = "tests/graph/test_engine_memo.py", "tests/graph/test_keys.py", "tests/graph/test_engine_lists.py"
CANCEL, FAILURE, DAMAGE = (
    "tests/graph/test_engine_cancel.py",
    "tests/graph/test_engine_failure.py",
    "tests/graph/test_engine_damage.py",
)
SHARING, VALUES, LIGHT = (
    "tests/graph/test_engine_sharing.py",
    "tests/graph/test_engine_values.py",
    "tests/graph/test_engine_light.py",
)
DISK, EVENTS, SCHEDULE = (
    "tests/graph/test_engine_disk_cache.py",
    "tests/graph/test_engine_events.py",
    "tests/graph/test_schedule.py",
)
WORKERS = "tests/graph/test_workers.py"
CACHES, MEMORY, MODELS, HEADER, NO_CODE = (
    "tests/graph/test_cache_faults.py",
    "tests/nodes/test_out_of_memory.py",
    "tests/nodes/test_hostile_models.py",
    "tests/nodes/test_tensor_header.py",
    "tests/test_no_code_from_data.py",
)

FAULTS: Final = (
    # ---- keys ----
    Fault(
        "key without file identity", "graph/keys.py",
        'if name != "file"}', 'if name not in ("file", "sha256")}', (KEYS,),
    ),
    Fault(
        "weights known by header and size only", "nodes/weights.py",
        '            digest.update(hashlib.file_digest(file, "sha256").digest())\n', "            pass\n", ("tests/nodes/test_load.py",),
    ),
    Fault(
        "large weights known by the start of each tensor", "nodes/weights.py",
        "{0, blocks // 2, blocks - 1} | chosen", "{0}", ("tests/nodes/test_load.py",),
    ),
    Fault(
        "missing weights are made up", "nodes/families/loading.py",
        '    _refuse(folder, "lack", told["missing_keys"], "of the model")\n', "", ("tests/nodes/test_load.py",),
    ),
    Fault(
        "key without device class", "graph/keys.py",
        'place = environment if spec.place == "device" or spec.borrows else ""', 'place = ""', (MEMO,),
    ),
    Fault(
        "key without code version", "graph/keys.py",
        "canonical([spec.id, spec.version, spec.code, place])", "canonical([spec.id, spec.version, place])", (MEMO,),
    ),
    Fault(
        "key without declared version", "graph/keys.py",
        "canonical([spec.id, spec.version, spec.code, place])", "canonical([spec.id, spec.code, place])", (MEMO,),
    ),
    Fault(
        "device class in the key of host nodes", "graph/keys.py",
        'place = environment if spec.place == "device" or spec.borrows else ""', "place = environment", (MEMO,),
    ),
    Fault(
        "disk_cache forgets at every edit of code", "graph/keys.py",
        "FORMAT + canonical([spec.id, spec.version])", "FORMAT + canonical([spec.id, spec.version, spec.code])", (DISK,),
    ),
    Fault(
        "true is one", "graph/canonical.py",
        'return b"T" if value else b"F"', 'return b"i%x;" % value', (MEMO,),
    ),
    Fault(
        "key without the output that is read", "graph/keys.py",
        'key + port.to_bytes(2, "big")', "key", (KEYS,),
    ),
    Fault(
        "muted nodes enter keys", "graph/expand.py",
        "        tokens.sort()\n", '        tokens.append(("", keys.token(len(self.compiled.document.nodes))))\n        tokens.sort()\n', (KEYS,),
    ),
    Fault(
        "node ids enter keys", "graph/expand.py",
        "        tokens.sort()\n", '        tokens.append(("", keys.token(self.compiled.ids[index])))\n        tokens.sort()\n', (MEMO,),
    ),
    Fault(
        "where a model lies enters keys", "graph/keys.py",
        "packed = encode(value, key=True)", "packed = encode(value)", (KEYS,),
    ),
    # ---- lists and seeds ----
    Fault(
        "unaligned mapping", "graph/expand.py",
        "one[name] = inputs[name][i]", 'one[name] = inputs[name][i - (name != "a")]', (LISTS,),
    ),
    Fault(
        "the same seed for every element", "graph/expand.py",
        "(seed + i) % 2**53", "seed", (LISTS,),
    ),
    Fault(
        "an undrawn seed has a key", "graph/expand.py",
        "if drawn and spec.cache and not spec.persist else None", "if spec.cache and not spec.persist else None", (KEYS, LIGHT),
    ),
    # ---- memo ----
    Fault(
        "early cut-off by structural key only", "graph/active.py",
        "return (content,) if structural is None else (structural, content)", "return (content if structural is None else structural,)", (MEMO,),
    ),
    Fault(
        "effects are remembered", "graph/node.py",
        "cache=cache and not effect", "cache=cache", (MEMO,),
    ),
    Fault(
        "done is told before the result is written", "graph/execute.py",
        '            is_kept = self._commit(job, values, action)\n            self._finish(job, place, values, "done", seconds, is_kept=is_kept)\n',
        '            self._finish(job, place, values, "done", seconds)\n            self._commit(job, values, action)\n', (DAMAGE,),
    ),
    Fault(
        "a blob's digest is not checked", "graph/store.py",
        "            if (file.digest() if file.is_mapped else sha256(view).digest()) != digest:\n", "            if False:\n", (DAMAGE, "tests/graph/test_store.py"),
    ),
    Fault(
        "a row's check is not checked", "graph/table.py",
        "return content if value[:_CHECK_BYTES] == _check_of(key, content) else None", "return content", (DAMAGE, "tests/graph/test_table.py"),
    ),
    Fault(
        "eviction of a blob in use", "graph/store.py",
        " AND digest NOT IN (SELECT digest FROM pins)", "", ("tests/graph/test_store.py",),
    ),
    Fault(
        "eviction of a value in use", "graph/host_values.py",
        "            if digest not in self._holds:\n                victims", "            if True:\n                victims", ("tests/graph/test_host_values.py",),
    ),
    Fault(
        "values live until the run ends", "graph/execute.py",
        "if not run.uses[ref.task] and ref.task not in run.printed:", "if False:", (VALUES,),
    ),
    Fault(
        "a changed input is not noticed", "graph/workers.py",
        "for name, one, before, digest in watched if one.version != before]", "for name, one, before, digest in watched if False]", (FAILURE,),
    ),
    Fault(
        "a changed input is read by others", "graph/execute.py",
        "        memo.values.drop_until(0)\n", "        return\n", (FAILURE,),
    ),
    # ---- sharing and cancelling ----
    Fault(
        "a cancel that kills the shared run", "graph/execute.py",
        "if mine and all(owner.cancelled for owner, _ in flight.subscribers):", "if mine:", (CANCEL,),
    ),
    Fault(
        "a cancelled waiter never ends", "graph/execute.py",
        "            if run is not job.run:\n                self._settle(run)\n", "", (CANCEL,),
    ),
    Fault(
        "an ended flight takes its successor along", "graph/execute.py",
        "if self._flights.get(flight.key) is flight:", "if flight.key in self._flights:", (CANCEL,),
    ),
    Fault(
        "no single flight in the process", "graph/execute.py",
        "if under_way is not None and not under_way.cancelled:", "if False:", (SHARING,),
    ),
    Fault(
        "no single flight across processes", "graph/execute.py",
        "return self._usual.get(spec.id, UNKNOWN_SECONDS) >= KEEP_SECONDS", "return False", (SHARING,),
    ),
    Fault(
        "memory is given back after good runs only", "graph/execute.py",
        "        self._trims.update(run.workers)\n", "        self._trims.update(() if run.cancelled else run.workers)\n", (CANCEL,),
    ),
    # ---- failing, telling ----
    Fault(
        "a node that exits takes the lane along", "graph/execute.py",
        "        except BaseException as error:  # whatever a node raises", "        except Exception as error:  # whatever a node raises", (FAILURE,),
    ),
    Fault(
        "the estimate counts one step too many", "graph/active.py",
        "(step - self._first[0]) * (total - step)", "step * (total - step)", (EVENTS,),
    ),
    Fault(
        "an event told while a reader drains silences the next", "graph/active.py",
        "            self._told = False\n            if not self.events:  # else one", "            if not self.events:  # else one", (EVENTS,),
    ),
    # ---- schedule, workers ----
    Fault(
        "weights are loaded where they are not", "graph/schedule.py",
        "if delay and self._sooner_elsewhere(device, needs, delay, now):", "if False:", (SCHEDULE,),
    ),
    Fault(
        "a newcomer starts at nothing", "graph/schedule.py",
        "max(self.used_seconds.get(run.client, 0.0), least)", "self.used_seconds.get(run.client, 0.0)", (SCHEDULE,),
    ),
    Fault(
        "a node that exits takes the worker along", "graph/worker.py",
        "    except BaseException as error:  # whatever a node raises", "    except Exception as error:  # whatever a node raises", (WORKERS,),
    ),
    Fault(
        "a cancel hits the next call", "graph/worker.py",
        "return self.call in self._cancelled", "return bool(self._cancelled)", (WORKERS,),
    ),
    # ---- guarantees: one result (3), no damaged entry (5), memory (8), no other settings (9), data is no code (19, 20), limits (22) ----
    Fault(
        "every one of fifty jobs computes for itself", "graph/execute.py",
        "if under_way is not None and not under_way.cancelled:", "if False:", (CACHES,),
    ),
    Fault(
        "a file is looked at through its mapping before it is trusted", "graph/store.py",
        "(file.digest() if file.is_mapped else sha256(view).digest())", "sha256(view).digest()", (CACHES,),
    ),
    Fault(
        "an entry of disk_cache is not checked", "graph/disk_cache.py",
        "if check and _digest_in(file, content) != digest:", "if False:", ("tests/graph/test_disk_cache.py",),
    ),
    Fault(
        "a node that cancels itself ends its run as done", "graph/execute.py",
        "            elif job.flight.cancelled:\n", "            elif True:\n", (CACHES,),
    ),
    Fault(
        "a library's refusal to allocate is no lack of memory", "graph/shortage.py",
        'r"|CUBLAS_STATUS_ALLOC_FAILED|', 'r"|', ("tests/graph/test_shortage.py",),
    ),
    Fault(
        "a lack of memory says nothing of how much", "graph/active.py",
        'lack = f": {shortage.text}" if shortage.text else ""', 'lack = ""', (MEMORY,),
    ),
    Fault(
        "a failed try keeps its tensors for the next", "nodes/runtime.py",
        "            clear_frames(error)  # else the tensors of the failed call stay for as long as the error\n", "", (MEMORY,),
    ),
    Fault(
        "a wrapped lack of memory is another error", "nodes/runtime.py",
        "        found = found.__cause__ or found.__context__\n", "        return None\n", (MEMORY,),
    ),
    Fault(
        "weights that changed after planning are used", "nodes/recipes.py",
        "    if found != recipe.weights:\n", "    if False:\n", (MODELS,),
    ),
    Fault(
        "infinity is drawn as white", "nodes/decode.py",
        '        demand_finite(pixels, "image", "the picture")', "        pass", ("tests/nodes/test_finite.py",),
    ),
    Fault(
        "a prompt is a format string", "nodes/text.py",
        "tokenize(live, prompt)", "tokenize(live, prompt.format(ctx))", (NO_CODE,),
    ),
    Fault(
        "a model's template is rendered", "nodes/families/zimage.py",
        'prompt = f"<|im_start|>user\\n{text}<|im_end|>\\n<|im_start|>assistant\\n"',
        'prompt = tokenizer.apply_chat_template([{"role": "user", "content": text}], tokenize=False, add_generation_prompt=True)', (MODELS,),
    ),
    Fault(
        "a model may name code", "nodes/configs.py",
        "if key in CODE_KEYS and", "if False and", (MODELS,),
    ),
    Fault(
        "a model folder may hold code", "nodes/configs.py",
        'if path.suffix.lower() in (".py",', 'if path.suffix.lower() in ("",', (MODELS,),
    ),
    Fault(
        "a layer count has no limit", "nodes/configs.py",
        '("layer", 1000), ', "", (MODELS,),
    ),
    Fault(
        "a header may be of any size", "nodes/tensor_header.py",
        " or length > MAX_HEADER_BYTES:", ":", (HEADER,),
    ),
    Fault(
        "tensors of a file may overlap", "nodes/tensor_header.py",
        "        if begin != at:\n", "        if begin > at:\n", (HEADER,),
    ),
    Fault(
        "a name may stand in a header twice", "nodes/tensor_header.py",
        "    if len(found) != len(pairs):\n", "    if False:\n", (HEADER,),
    ),
    # ---- nodes ----
    Fault(
        "pads fed as text", "nodes/families/zimage.py",
        "hidden = text.hidden.torch()[mask].to(torch_device(device))", "hidden = text.hidden.torch().to(torch_device(device))",
        ("tests/nodes/test_zimage_equals_diffusers.py",),
    ),
    Fault(
        "shift before scale", "nodes/families/zimage.py",
        "(samples.to(vae.dtype) / vae.config.scaling_factor) + vae.config.shift_factor",
        "(samples.to(vae.dtype) + vae.config.shift_factor) / vae.config.scaling_factor", ("tests/nodes/test_zimage_equals_diffusers.py",),
    ),
)  # fmt: skip
