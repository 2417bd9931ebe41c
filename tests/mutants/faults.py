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
GUARD, LIMITS = "tests/server/api/test_guard.py", "tests/server/api/test_limits.py"
SERVE, HEALTH = "tests/server/api/test_serve.py", "tests/server/api/test_health.py"
WORKFLOWS = "tests/server/library/test_workflows.py"
WORKERS, DEATHS, TRIALS = "tests/graph/test_workers.py", "tests/graph/test_engine_deaths.py", "tests/graph/test_trials.py"
JOBS = {name: f"tests/server/jobs/test_{name}.py" for name in ("store", "queue", "desk", "orders", "simulation")}
JOBS_KILLED = "tests/server/jobs/crash/test_store_kill.py"

HUB, WEBHOOKS = "tests/server/jobs/test_hub.py", "tests/server/jobs/test_webhooks.py"
JOB_ROUTES, SOCKET, CLIENT = (
    "tests/server/api/test_jobs_routes.py",
    "tests/server/api/test_socket.py",
    "tests/server/api/test_client.py",
)
WORKERS = "tests/graph/test_workers.py"
CACHES, MEMORY, MODELS, HEADER, NO_CODE = (
    "tests/graph/test_cache_faults.py",
    "tests/nodes/test_out_of_memory.py",
    "tests/nodes/test_hostile_models.py",
    "tests/nodes/test_tensor_header.py",
    "tests/test_no_code_from_data.py",
)
WORKERS, DEATHS, TRIALS = "tests/graph/test_workers.py", "tests/graph/test_engine_deaths.py", "tests/graph/test_trials.py"

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
        '            is_kept = self.results.commit(job, values, action)\n            self._finish(job, place, values, "done", seconds, is_kept=is_kept)\n',
        '            self._finish(job, place, values, "done", seconds)\n            self.results.commit(job, values, action)\n', (DAMAGE,),
    ),
    Fault(
        "a blob's digest is not checked", "graph/store.py",
        "            if (file.digest() if file.is_mapped else sha256(view).digest()) != digest:\n", "            if False:\n", (DAMAGE, CACHES, "tests/graph/test_store.py"),
    ),
    Fault(
        "a row's check is not checked", "graph/table.py",
        "return content if value[:_CHECK_BYTES] == _check_of(key, content) else None", "return content", (DAMAGE, CACHES, "tests/graph/test_table.py"),
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
        "values live until the run ends", "graph/endings.py",
        "if not run.uses[ref.task] and ref.task not in run.printed:", "if False:", (VALUES,),
    ),
    Fault(
        "a changed input is not noticed", "graph/workers.py",
        "for name, one, before, digest in watched if one.version != before]", "for name, one, before, digest in watched if False]", (FAILURE,),
    ),
    Fault(
        "a changed input is read by others", "graph/results.py",
        "        memo.values.drop_until(0)\n", "        return\n", (FAILURE,),
    ),
    # ---- sharing and cancelling ----
    Fault(
        "a cancel that kills the shared run", "graph/execute.py",
        "if mine and all(owner.cancelled for owner, _ in flight.subscribers):", "if mine:", (CANCEL,),
    ),
    Fault(
        "a cancelled waiter never ends", "graph/endings.py",
        "            if run is not job.run:\n                self._settle(run)\n", "", (CANCEL,),
    ),
    Fault(
        "an ended flight takes its successor along", "graph/endings.py",
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
        "memory is given back after good runs only", "graph/endings.py",
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
        "            self._told = False\n        return events\n", "        return events\n", (EVENTS,),
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
    # ---- HTTP ----
    Fault(
        "any origin that equals the host is ours", "server/api/guard.py",
        "    if origin is not None and origin not in names.origins:\n",
        '    if origin is not None and origin.partition("://")[2] != request.headers.get("Host"):\n', (GUARD,),
    ),
    Fault(
        "same-site is as good as same-origin", "server/api/guard.py",
        'site not in ("same-origin", "none")', 'site not in ("same-origin", "same-site", "none")', (GUARD,),
    ),
    Fault(
        "the origin null is let in", "server/api/guard.py",
        "    if origin is not None and origin not in names.origins:\n",
        '    if origin not in (None, "null") and origin not in names.origins:\n', (GUARD,),
    ),
    Fault(
        "a session needs no origin to change things", "server/api/guard.py",
        'if (request.method not in SAFE_METHODS or is_upgrade) and request.headers.get("Origin") not in names.origins:', "if False:", (GUARD,),
    ),
    Fault(
        "any name is ours", "server/api/guard.py",
        "    if host not in names.hosts or _named_in_target(request.raw_path, host) not in names.hosts:\n", "    if False:\n", (GUARD,),
    ),
    Fault(
        "HEAD needs no token", "server/api/guard.py",
        'if route is not None and route.access == "open":', 'if request.method == "HEAD" or (route is not None and route.access == "open"):', (GUARD,),
    ),
    Fault(
        "unknown addresses need no token", "server/api/guard.py",
        'if route is not None and route.access == "open":', 'if route is None or route.access == "open":', (GUARD,),
    ),
    Fault(
        "wrong tokens are not slowed down", "server/api/guard.py",
        "        wait_s = 0.0 if left >= 1 else (1 - left) * self._every_s\n", "        wait_s = 0.0\n", (GUARD,),
    ),
    Fault(
        "sessions never end", "server/api/session.py",
        "int(until) > self._clock() and session not in self._closed", "True", ("tests/server/api/test_session.py",),
    ),
    Fault(
        "it listens on every network unasked", "server/serve.py",
        "if place.host in _EVERYWHERE and not place.hosts:", "if False:", (SERVE,),
    ),
    Fault(
        "a token that others can read is good", "server/api/session.py",
        "status.st_mode & 0o077", "False", (SERVE, "tests/server/api/test_session.py"),
    ),
    Fault(
        "two servers on one data folder", "server/lock.py",
        "fcntl.LOCK_EX | fcntl.LOCK_NB", "fcntl.LOCK_SH | fcntl.LOCK_NB", (SERVE,),
    ),
    Fault(
        "the limit of a body is ignored", "server/api/body.py",
        "        if self.count > self.limit_bytes:\n", "        if False:\n", (LIMITS,),
    ),
    Fault(
        "a body may take for ever", "server/api/body.py",
        "self.pace.grace_s + self.count / self.pace.bytes_per_s", "1e9", (LIMITS,),
    ),
    Fault(
        "headers may take for ever", "server/api/connections.py",
        "        elif self._header_timer is None and data:\n", "        elif False:\n", (LIMITS,),
    ),
    Fault(
        "connections may take every open file", "server/api/connections.py",
        "        most = max(open_files - RESERVED_FILES, open_files // 4)\n", "        most = open_files\n", (LIMITS,),
    ),
    Fault(
        "forms are read at once", "server/api/body.py",
        "    try:\n        reader = MultipartReader(", "    try:\n        await request.post()\n        reader = MultipartReader(", (LIMITS,),
    ),
    Fault(
        "compressed bodies are taken", "server/api/binding.py",
        'if request.headers.get("Content-Encoding", "identity").lower() != "identity":', "if False:", (LIMITS,),
    ),
    Fault(
        "bodies of any type are read", "server/api/binding.py",
        "    if kind.strip().lower() != wanted:\n        return False\n", "", (GUARD,),
    ),
    Fault(
        "a stuck worker is well", "server/pulse.py",
        'return place["state"] == "busy" and (place.get("progress_age_s") or 0.0) > self._limit_s', "return False", (HEALTH,),
    ),
    Fault(
        "a draining server takes work", "server/health.py",
        'if self.is_draining and "draining" in refuses:', "if False:", (HEALTH,),
    ),
    Fault(
        "a full disk takes work", "server/health.py",
        "        if free < floor:\n", "        if False:\n", (HEALTH,),
    ),
    Fault(
        "workflows of another package are offered as templates", "server/shipped.py",
        '(ours / "workflows", ours / TEMPLATES) if is_checkout(ours) else (ours / TEMPLATES,)', '(ours / "workflows", ours / TEMPLATES)',
        ("tests/server/test_shipped.py",),
    ),
    Fault(
        "errors are told to the client", "server/api/front.py",
        "response = problem_response(internal(request_id))", 'response = problem_response(Refusal("internal", str(error), request=request_id))',
        ("tests/server/api/test_route.py",),
    ),
    # ---- tries, deaths and hangs of workers (guarantees 7, 10, 12) ----
    Fault(
        "a try is not noted before the call", "graph/execute.py",
        "            self._open_slot(job, lane)\n", "", (f"{TRIALS}::test_a_node_that_takes_everything_along_is_charged",),
    ),
    Fault(
        "a call that has ended stays noted", "graph/endings.py",
        "            self._ledger.close_slot(flight.slot)\n", "",
        (f"{DEATHS}::test_a_cancelled_node_that_does_not_listen_is_ended_with_its_process",),
    ),
    Fault(
        "a run that kills its workers is tried for ever", "graph/deaths.py",
        "if run.tries < self.bounds.most_tries:", "if self.bounds.most_tries > 1:",
        (f"{DEATHS}::test_a_run_that_kills_its_worker_each_time_is_stopped_after_three_tries",),
    ),
    Fault(
        "other runs are charged for a death", "graph/deaths.py",
        "for run in {id(run): run for run, _ in subscribers if was_wanted}.values():", "for run in self._owners.values():",
        (f"{DEATHS}::test_a_cancelled_node_that_does_not_listen_is_ended_with_its_process", f"{DEATHS}::test_a_death_is_not_charged_to_runs_that_wait",),
    ),
    Fault(
        "a kept result leaves the tries as they are", "graph/endings.py",
        "            run.tries = 0\n", "", (f"{DEATHS}::test_a_kept_result_sets_the_tries_back",),
    ),
    Fault(
        "the death of the engine is charged to the run", "graph/worker.py",
        "            self.slot.release()\n", "            pass\n", (f"{TRIALS}::test_an_engine_that_is_killed_is_not_the_runs_fault",),
    ),
    Fault(
        "planning is not noted", "graph/engine.py",
        "if self.ledger is not None and run_id:", "if False:", (f"{TRIALS}::test_an_engine_that_dies_while_it_plans_names_the_run",),
    ),
    Fault(
        "the death of an idle worker goes unnoticed", "graph/processes.py",
        "        if lost is not None and self.on_idle_death is not None:\n            self.on_idle_death(lost)\n", "",
        (f"{WORKERS}::test_a_child_killed_between_two_calls_is_noticed_at_once_and_replaced",),
    ),
    Fault(
        "a silent worker is waited for", "graph/child.py",
        "        elif now - self._asked >= self.heartbeat_s * 2 / 3:", "        elif False:",
        (f"{DEATHS}::test_a_silent_worker_is_ended_and_other_places_go_on",),
    ),
    Fault(
        "a worker that imports a large library is taken for dead", "graph/processes.py",
        "child.heartbeat_s = max(START_SECONDS, self.heartbeat_s)", "pass",
        (f"{WORKERS}::test_what_a_node_imports_may_take_longer_than_a_heartbeat",),
    ),
    Fault(
        "a device that never comes up is tried for ever", "graph/deaths.py",
        "if lane.failed_starts >= self.bounds.most_starts:", "if not lane.failed_starts:",
        (f"{DEATHS}::test_a_device_that_never_comes_up_is_disabled_and_the_other_does_the_work",),
    ),
    Fault(
        "a worker that died at start is started again at once", "graph/places.py",
        "return 0.0 if failed_starts < 2 else", "return 0.0 if failed_starts else", (DEATHS,),
    ),
    Fault(
        "a broken device gets the next task", "graph/execute.py",
        "and lane.worker.replace():", "and lane.worker.start(job.report.cancelled) is None:",
        (f"{DEATHS}::test_a_faulty_device_gets_a_new_process_and_the_task_one_more_try",),
    ),
    Fault(
        "a worker that cannot hear outlives its engine", "graph/worker.py",
        "    die_with_parent()\n", "", (f"{TRIALS}::test_a_worker_that_cannot_hear_ends_with_its_engine_all_the_same",),
    ),
    Fault(
        "a stopped worker outlives its engine", "graph/child.py",
        "            os.killpg(child.pid, signal.SIGKILL)\n", "            pass\n",
        (f"{TRIALS}::test_a_stopped_worker_of_a_dead_engine_is_ended_by_whoever_comes_next",),
    ),
    Fault(
        "a cancel is not passed on", "graph/processes.py",
        '                child.channel.send("cancel", call)\n', "",
        (f"{WORKERS}::test_cancel_is_seen_at_the_next_step_and_the_worker_lives_on", f"{WORKERS}::test_a_cancel_of_one_call_is_not_one_of_the_next"),
    ),
    Fault(
        "a node that does not listen keeps its device", "graph/processes.py",
        "elif told_at is not None and time.monotonic() - told_at > self.cancel_grace_s:", "elif False:",
        (f"{DEATHS}::test_a_cancelled_node_that_does_not_listen_is_ended_with_its_process",),
    ),
    Fault(
        "no time limit", "graph/active.py",
        "        self._until = self._moved_at + self.limit_s\n", "",
        (f"{DEATHS}::test_a_node_over_its_time_limit_fails_and_is_not_tried_again",),
    ),
    Fault(
        "a node over its time limit is tried again", "graph/execute.py",
        "            if job.report.timed_out and not job.flight.cancelled:", "            if False:",
        (f"{DEATHS}::test_a_node_over_its_time_limit_fails_and_is_not_tried_again",),
    ),
    Fault(
        "an answer to another call is taken", "graph/processes.py",
        "        if call != self._calls:", "        if False:",
        (f"{DEATHS}::test_a_worker_that_says_what_is_not_ours_is_ended_and_replaced",),
    ),
    Fault(
        "a file of anybody is taken for a value", "graph/processes.py",
        'case ["f", bytes(), str(path)] if Path(path).parent == self.courier.spool.folder:', 'case ["f", bytes(), str()]:',
        (f"{DEATHS}::test_a_worker_that_says_what_is_not_ours_is_ended_and_replaced",),
    ),
    Fault(
        "states are lost where nobody reads", "graph/active.py",
        "if isinstance(event, (ProgressEvent, PreviewEvent, NoteEvent)) and", "if isinstance(event, (ProgressEvent, PreviewEvent, NoteEvent, NodeEvent)) and",
        (EVENTS,),
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
    Fault(
        "what a mask keeps is put back without its noise", "nodes/sampling/loop.py",
        "picture = schedule.scheduler.scale_noise(self.picture, following, self.noise) if len(following) else self.picture",
        "picture = self.picture", ("tests/nodes/test_zimage_equals_diffusers.py",),
    ),
    Fault(
        "a mask is brought to the latents before it is made black and white", "nodes/families/zimage.py",
        "(levels >= 0.5).astype(np.float32)", "levels", ("tests/nodes/test_zimage_equals_diffusers.py",),
    ),
    Fault(
        "a mask without a picture is taken", "nodes/denoise.py",
        '    if latents.is_empty and not _is_empty(inputs, "mask"):\n', "    if False:\n", ("tests/nodes/test_denoise.py",),
    ),
    Fault(
        "transparent places of a mask are kept", "nodes/mask.py",
        '    return opaque if read == "alpha" else _inverted(opaque)\n', "    return opaque\n", ("tests/nodes/test_mask.py",),
    ),
    # ---- saved workflows ----
    Fault(
        "If-Match is ignored", "server/library/precondition.py",
        'if self.match not in ("*", etag):', "if False:", (WORKFLOWS,),
    ),
    Fault(
        "a workflow is replaced without a word on which version", "server/library/precondition.py",
        "        if self.match is None:\n", "        if False:\n", (WORKFLOWS,),
    ),
    Fault(
        "a file takes its name before its content is on the disk", "server/library/confine.py",
        "        os.fsync(self.file)\n        os.rename(self.name", "        os.rename(self.name", (WORKFLOWS,),
    ),
    Fault(
        "any name can be a workflow's", "server/library/workflows.py",
        "    if not _is_name(name):\n        message", "    if False:\n        message", (WORKFLOWS,),
    ),
    Fault(
        "what a save replaces is lost", "server/library/workflows.py",
        "        elif place is found.place:\n            self._keep(name, found)\n", "", (WORKFLOWS,),
    ),
    Fault(
        "a link in the workflows folder is replaced", "server/library/folder.py",
        "if not self.root.has(self._path(name)) and name in self.names():", "if False:", (WORKFLOWS,),
    ),
    Fault(
        "a model is removed while a job needs it", "server/api/routes/models.py",
        "    if job is not None:\n", "    if False:\n", ("tests/server/api/test_library_routes.py",),
    ),
    Fault(
        "a model is removed while a device holds it", "server/api/routes/models.py",
        "    if devices:\n", "    if False:\n", ("tests/server/api/test_library_routes.py",),
    ),
    Fault(
        "a job is accepted whose model is being removed", "server/jobs/desk.py",
        "            if mention.is_in(prepared.compiled.document):\n", "            if False:\n", ("tests/server/jobs/test_desk.py",),
    ),
    Fault(
        "a model is removed under a job that is just being kept", "server/jobs/desk.py",
        "                await asyncio.wait(tuple(self._tasks))\n", "                pass\n", ("tests/server/jobs/test_desk.py",),
    ),
    Fault(
        "a model's name is looked for as a whole text only", "server/jobs/mentions.py",
        "self._whole.search(text) is not None", "self._whole.fullmatch(text) is not None", ("tests/server/jobs/test_mentions.py",),
    ),
    Fault(
        "a model is removed where a link leads", "server/library/model_folders.py",
        "_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC", "_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC",
        ("tests/server/api/test_library_routes.py",),
    ),
    Fault(
        "workflows of any size are checked", "server/library/checking.py",
        "    if count > most_nodes:\n", "    if False:\n", ("tests/server/api/test_workflow_routes.py",),
    ),
    Fault(
        "a text of any length is run", "server/jobs/orders.py",
        "    problems = _long_texts(compiled, limits.text)\n", "    problems: list[Problem] = []\n",
        (JOBS["orders"], "tests/server/api/test_workflow_routes.py"),
    ),
    Fault(
        "an input nests a document deeper than can be read", "server/jobs/orders.py",
        "        _refuse_deep(inputs)\n", "", (JOBS["orders"], "tests/server/api/test_workflow_routes.py"),
    ),
    Fault(
        "restore overwrites", "server/backup.py",
        "if home.exists() and (not home.is_dir() or any(home.iterdir())):", "if False:", ("tests/server/test_backup.py",),
    ),
    Fault(
        "a backup on a read-only medium cannot be restored", "server/backup.py",
        'else "immutable=1"', 'else "mode=ro"', ("tests/server/test_backup.py",),
    ),
    # ---- files and outputs ----
    Fault(
        "a path is checked by how it begins", "server/library/confine.py",
        "            return self._open(self._root, name, flags | _SAFE)\n",
        "            path = os.path.abspath(self.folder / name)\n            if not path.startswith(str(self.folder)):\n"
        "                raise _missing(name)\n            return os.open(path, (flags | _SAFE) & ~os.O_NOFOLLOW)\n",
        ("tests/server/library/test_confine.py",),
    ),
    Fault(
        "a link is followed while walking", "server/library/confine.py",
        "below = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | _SAFE, dir_fd=at)",
        "below = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=at)", ("tests/server/library/test_confine.py",),
    ),
    Fault(
        "an upload has its name before it is on the disk", "server/library/confine.py",
        "        os.fsync(self.file)\n", "", ("tests/server/library/test_uploads.py",),
    ),
    Fault(
        "an upload's name is not made durable", "server/library/confine.py",
        "        os.fsync(self.folder)\n", "", ("tests/server/library/test_uploads.py",),
    ),
    Fault(
        "an upload is counted when it is whole", "server/library/uploads.py",
        "        if total > self.most_bytes:\n", "        if False:\n", ("tests/server/library/test_uploads.py",),
    ),
    Fault(
        "a file that a job names is removed", "server/library/uploads.py",
        "            self._refuse_used(sha256, users)\n", "", ("tests/server/library/test_uploads.py",),
    ),
    Fault(
        "uploads expire by the wall clock", "server/library/uploads.py",
        " and self._used_at(one) < oldest_used]", "]", ("tests/server/library/test_uploads.py",),
    ),
    Fault(
        "an output has its name before it is on the disk", "graph/publish.py",
        "        os.fsync(file.fileno())\n", "", ("tests/graph/test_publish.py",),
    ),
    Fault(
        "an output's name is not made durable", "graph/publish.py",
        "        _sync_folder(folder)\n", "", ("tests/graph/test_publish.py",),
    ),
    Fault(
        "an output is written in its place", "graph/publish.py",
        "        os.link(temporary, path)  # a rename would replace\n", "        path.write_bytes(temporary.read_bytes())\n",
        ("tests/graph/crash/test_publish_sweep.py", "tests/graph/test_publish.py"),
    ),
    Fault(
        "the sidecar comes first", "graph/publish.py",
        "            for temporary, path in pairs:\n", "            for temporary, path in pairs[::-1]:\n",
        ("tests/graph/test_publish.py",),
    ),
    Fault(
        "a retry publishes again", "graph/publish.py",
        'return f"{_fit(prefix, 40)}-{_fit(ctx.job, 64)}-{mark}"', 'return f"{unique_name(prefix)[:80]}-{mark}"',
        ("tests/graph/test_publish.py", "tests/nodes/test_image_and_save.py"),
    ),
    Fault(
        "thumbnails are removed by a pattern", "server/library/pictures.py",
        "                self._thumbnails.remove(_thumbnail_name(name, side))\n",
        "                for path in self._thumbnails.folder.glob(_thumbnail_name(name, side)):\n                    path.unlink()\n",
        ("tests/server/library/test_pictures.py",),
    ),
    Fault(
        "an output's sidecar is removed first", "server/library/gallery.py",
        "            self.root.remove(output.file)\n",
        '            self.root.remove(f"{id}{SIDECAR_SUFFIX}")\n            self.root.remove(output.file)\n',
        ("tests/server/library/test_gallery.py",),
    ),
    Fault(
        "an output whose star cannot go is half deleted", "server/library/gallery.py",
        "            with suppress(Refusal, OSError):  # the next write leaves it out\n", "            if True:\n",
        ("tests/server/library/test_gallery.py",),
    ),
    Fault(
        "outputs without their file are listed", "server/library/gallery.py",
        "return output if output is not None and output.file in listing.files else None", "return output",
        ("tests/server/library/test_gallery.py",),
    ),
    Fault(
        "pixels are decoded before they are counted", "server/library/picture_child.py",
        "        raise Unreadable(f\"has more than {most_pixels} pixels\") from None\n",
        "        return Image.open(file, formats=FORMATS)\n", ("tests/server/library/test_pictures.py",),
    ),
    Fault(
        "user bytes are shown by the name they have", "server/api/content.py",
        "inline=media.is_shown and not attachment", 'inline=name.endswith((".png", ".svg")) and not attachment',
        ("tests/server/api/test_files_routes.py", "tests/server/api/test_outputs_routes.py"),
    ),
    Fault(
        "a key may stand twice", "graph/jsontext.py",
        "    return text.count(\":\") == members or len(_KEY_END.findall(text)) == members\n", "    return True\n",
        ("tests/graph/test_jsontext.py",),
    ),
    Fault(
        "keys before a space are not counted", "graph/jsontext.py",
        "len(_KEY_END.findall(text)) == members", "text.count('\":') == members", ("tests/graph/test_jsontext.py",),
    ),
    # ---- jobs ----
    Fault(
        "a job is answered before its commit", "server/jobs/writer.py",
        '        connection.execute("COMMIT")\n        self._number += 1\n',
        "        for write, outcome in zip(writes, self._outcomes):\n"
        "            (write.future.set_exception if isinstance(outcome, Exception) else write.future.set_result)(outcome)\n"
        '        writes.clear(), self._outcomes.clear()\n        connection.execute("COMMIT")\n        self._number += 1\n', (JOBS["store"], JOBS_KILLED),
    ),
    Fault(
        "a job that the disk refused keeps its place", "server/jobs/desk.py",
        "            for new in news:\n                self._queue.release(new.id)\n            raise\n", "            raise\n", (JOBS["desk"],),
    ),
    Fault(
        "who waits for a commit waits for the log to be carried over", "server/jobs/writer.py",
        "        self._number += 1\n        self._uncarried += 1\n",
        "        self._number += 1\n        self._uncarried += 1\n"
        "        if self._uncarried >= CARRY_AFTER:\n            self._carry_log()\n", (JOBS["store"],),
    ),
    Fault(
        "a short document has no checksum", "server/jobs/store.py",
        "    if zlib.crc32(text)", "    if False and zlib.crc32(text)", (JOBS["store"],),
    ),
    Fault(
        "a commit is not synced", "server/jobs/schema.py",
        "PRAGMA synchronous = FULL", "PRAGMA synchronous = NORMAL", (JOBS["store"],),
    ),
    Fault(
        "one bad write fails its neighbours", "server/jobs/writer.py",
        "        if schema.is_of_the_disk(error):\n            raise\n", "        raise\n", (JOBS["store"],),
    ),
    Fault(
        "what was told failed stays committed", "server/jobs/writer.py",
        "                undo(connection)\n", "                pass\n", (JOBS["store"],),
    ),
    Fault(
        "a failed sync is taken for a commit that failed", "server/jobs/writer.py",
        "return self._outcomes if self._number >= number else failed", "return failed", (JOBS["store"], JOBS["simulation"]),
    ),
    Fault(
        "an ended job may end again", "server/jobs/schema.py",
        "BEFORE UPDATE ON jobs WHEN OLD.ended_seq IS NOT NULL\n", "BEFORE UPDATE ON jobs WHEN OLD.ended_seq < 0\n", (JOBS["store"],),
    ),
    Fault(
        "the final state comes before its result", "server/jobs/store.py",
        'connection.execute("INSERT INTO results VALUES (?, ?, ?)", (id, *_packed_result(result)))',
        'self._writes.submit(lambda later: later.execute("INSERT INTO results VALUES (?, ?, ?)", (id, *_packed_result(result))))', (JOBS["desk"],),
    ),
    Fault(
        "a damaged database is deleted", "server/jobs/schema.py",
        "os.rename(f\"{path}{suffix}\", path.with_name(name + suffix))", "os.unlink(f\"{path}{suffix}\")", (JOBS["store"],),
    ),
    Fault(
        "a try is counted after it", "server/engine/link.py",
        "max(found.get(one.run, 0), one.tries + 1)", "max(found.get(one.run, 0), one.tries)", ("tests/server/engine/test_tries.py",),
    ),
    Fault(
        "tries are forgotten when the engine dies", "server/jobs/dispatch.py",
        "job.priority, job.client, tries)", "job.priority, job.client, 0)", (JOBS["desk"],),
    ),
    Fault(
        "the Idempotency-Key is ignored", "server/jobs/store.py",
        "known = _known(connection, job, self.uptime_s) if job.idempotency is not None else None", "known = None", (JOBS["store"],),
    ),
    Fault(
        "requests with one key do not wait for each other", "server/jobs/desk.py",
        "return await self._known(client, keys) or await accept()", "return await accept()", (JOBS["desk"],),
    ),
    Fault(
        "keys expire by the wall clock", "server/jobs/store.py",
        "return self._uptime_before + self._monotonic() - self._opened", "return self._clock()", (JOBS["store"],),
    ),
    Fault(
        "the queue grows without end", "server/jobs/queue.py",
        "        if count + more > self.most_jobs:\n", "        if False:\n", (JOBS["queue"], JOBS["desk"]),
    ),
    Fault(
        "the jobs of a request are admitted as if they were one", "server/jobs/queue.py",
        "self._refuse_full(len(costs_s), ", "self._refuse_full(1, ", (JOBS["queue"], JOBS["desk"]),
    ),
    Fault(
        "first come, first served, whoever comes", "server/jobs/queue.py",
        "key=lambda name: (self._turn(name), clients[name][0])", "key=lambda name: clients[name][0]", (JOBS["queue"], JOBS["desk"]),
    ),
    Fault(
        "the order that is told is not the one that comes", "server/jobs/queue.py",
        "heapreplace(line, (ahead._turn(client), following, client))", "heapreplace(line, (self._turn(client), following, client))",
        (JOBS["queue"],),
    ),
    Fault(
        "a retry draws new seeds", "server/jobs/desk.py",
        "name: job.seeds.get(name, seed) for name, seed", "name: seed for name, seed",
        (f"{JOBS['desk']}::test_a_retry_is_a_new_job_with_the_same_document_and_seeds",),
    ),
    Fault(
        "an end that the disk refused is forgotten", "server/jobs/dispatch.py",
        "            self._unwritten[ended.job] = ended\n", "", (JOBS["desk"], JOBS["simulation"]),
    ),
    Fault(
        "a draining server takes jobs in", "server/jobs/desk.py",
        "        if self._is_draining:\n            raise", "        if False:\n            raise", (JOBS["desk"],),
    ),
    Fault(
        "what ran is lost with its engine", "server/jobs/dispatch.py",
        "                await self._submit_again(id)\n        finally", "                pass\n        finally", (JOBS["desk"], JOBS["simulation"]),
    ),
    # ---- logs ----
    Fault(
        "the log quotes what a failed node was given", "server/engine/work.py",
        'self._log.write("warning", said,', 'self._log.write("warning", node.error,',
        ("tests/server/engine/test_link.py::test_the_log_quotes_neither_the_inputs_of_a_failed_node_nor_its_message",),
    ),
    Fault(
        "the log quotes errors", "graph/trace.py",
        "    kind = type(error).__name__\n", '    kind = f"{type(error).__name__}: {error}"\n', ("tests/graph/test_trace.py",),
    ),
    # ---- streams, webhooks and the client ----
    Fault(
        "a place of another start is taken for one of this", "server/jobs/hub.py",
        "if epoch != self.epoch or not (", "if not (", (HUB,),
    ),
    Fault(
        "what is kept for slow readers grows", "server/jobs/hub.py",
        "while len(self._ring) > RING_DELTAS or (", "while False and (", (HUB,),
    ),
    Fault(
        "a reader that fell behind is told nothing of it", "server/jobs/hub.py",
        "return self.seq - len(self._ring) <= place <= self.seq", "return place <= self.seq", (HUB,),
    ),
    Fault(
        "progress outlives its node", "server/jobs/hub.py",
        '            live.stream.hide(("progress", node, element), ("preview", node, element))\n', "            pass\n", (HUB,),
    ),
    Fault(
        "previews are made when nobody looks", "server/jobs/hub.py",
        "wanted = bool(live.stream.preview_readers)", "wanted = bool(live.stream.readers)", (HUB,),
    ),
    Fault(
        "a reader that never reads is kept", "server/jobs/hub.py",
        "if unsent > MOST_UNSENT or now - reader.moved_at > STALL_S:", "if False:", (HUB,),
    ),
    Fault(
        "what comes after the end counts", "server/jobs/hub.py",
        "return None if live is None or live.until is not None else live", "return live", (HUB,),
    ),
    Fault(
        "a deletion is told only of what ended just now", "server/jobs/hub.py",
        '        self._live.pop(id, None)\n        self._tell', '        if self._live.pop(id, None):\n            self._tell', (HUB,),
    ),
    Fault(
        "state and outcome of two records are mixed", "server/api/routes/jobs.py",
        "return (facts.job if facts.job.is_final else job), facts.rows", "return job, facts.rows", (JOB_ROUTES,),
    ),
    Fault(
        "the Idempotency-Key is not passed on", "server/api/routes/jobs.py",
        "    if key is None:\n        return None\n", "    if True:\n        return None\n", (JOB_ROUTES,),
    ),
    Fault(
        "a known key is refused what new work is", "server/api/front.py",
        "return call.route.idempotent and call.idempotency_key is not None", "return False", (JOB_ROUTES,),
    ),
    Fault(
        "a lost answer makes a second job", "server/client.py",
        '({"Idempotency-Key": key} if key is not None else {})', "{}", (CLIENT,),
    ),
    Fault(
        "what a lost answer said is refused when it is asked again", "server/client.py",
        "error.is_repeat = sendings.count > 1", "error.is_repeat = False", (CLIENT,),
    ),
    Fault(
        "a busy server ends a download", "server/client.py",
        "await self._until_answered(lambda: self._receive(path, part))", "await self._receive(path, part)", (CLIENT,),
    ),
    Fault(
        "events begin anew after a lost connection", "server/client.py",
        '({"Last-Event-ID": last_id} if last_id else {})', "{}", (CLIENT,),
    ),
    Fault(
        "a socket may send without end", "server/api/routes/socket.py",
        "        if self._left < 0:\n", "        if False:\n", (SOCKET,),
    ),
    Fault(
        "a socket's message may be of any size", "server/api/routes/socket.py",
        "max_msg_size=MOST_MESSAGE_BYTES", "max_msg_size=0", (SOCKET,),
    ),
    Fault(
        "a webhook reaches into the private network", "server/jobs/webhooks.py",
        "return _is_public(address) or (is_private and _is_private(address))", "return True", (WEBHOOKS,),
    ),
    Fault(
        "a webhook reaches into the private network unasked", "server/jobs/webhooks.py",
        "(is_private and _is_private(address))", "_is_private(address)", (WEBHOOKS,),
    ),
    Fault(
        "a webhook follows redirects", "server/jobs/webhooks.py",
        "headers=headers, allow_redirects=False)", "headers=headers)", (WEBHOOKS,),
    ),
    Fault(
        "a webhook's name is looked up a second time", "server/jobs/webhooks.py",
        "resolver=_pinned(addresses), ", "", (WEBHOOKS,),
    ),
    Fault(
        "a webhook is posted again and again while the disk is full", "server/jobs/webhooks.py",
        "            await self._sleep(NOTE_AGAIN_S)\n", "            return\n", (WEBHOOKS,),
    ),
    Fault(
        "the webhooks of one target hide those of another", "server/jobs/store.py",
        "WHERE due <= ? AND target = ? ORDER BY due", "WHERE due <= ? AND ? != '' ORDER BY due", (JOBS["store"],),
    ),
    Fault(
        "a webhook is forgotten with its old job", "server/jobs/store.py",
        'is_over = "NOT EXISTS', 'is_over = "1 OR NOT EXISTS', (JOBS["store"],),
    ),
    # ---- guarantees 9, 11, 23 ----
    Fault(
        "key without model hash", "nodes/weights.py",
        'f"{config_identity(config)} {weights.identity}"', "config_identity(config)", ("tests/nodes/test_load.py", MODELS),
    ),
    Fault(
        "an end that cannot be mended is a good end", "server/serve.py",
        "        if self._failure is not None:\n            raise self._failure\n", "", (SERVE,),
    ),
    Fault(
        "a world draws from dice of its own", "tests/server/jobs/test_simulation.py",
        "random.Random(seed)", "random.Random()", (JOBS["simulation"],),
    ),
    # ---- found when the first wave was reviewed ----
    Fault(
        "an engine that ends fails what it plans", "server/engine/process.py",
        "        if work.is_left:  # what it was planned with", "        if False:  # what it was planned with",
        ("tests/server/engine/test_leaving.py",),
    ),
    Fault(
        "a job that cannot be read holds up all others", "server/jobs/dispatch.py",
        "        except Exception as error:\n            self._give_up(id, error)\n            return\n        if started is not None",
        "        if started is not None", (JOBS["desk"],),
    ),
    Fault(
        "an end that the disk denied is never told", "server/jobs/dispatch.py",
        "            job = found(await self._kept(self._store.get(id)), id)\n",
        "            return found(await self._kept(self._store.get(id)), id)\n", (JOBS["desk"],),
    ),
    Fault(
        "a cancel that the disk denied is never told", "server/jobs/dispatch.py",
        '            self._end(Ended(id, "cancelled", {}))\n            return\n        under_way = ',
        "            self._forget(id, 0.0)\n            return\n        under_way = ", (JOBS["desk"],),
    ),
    Fault(
        "a cancel asks an engine that never had the job", "server/jobs/desk.py",
        "            if under_way.is_handed_over:\n", "            if self._has_engine:\n", (JOBS["desk"],),
    ),
    Fault(
        "an engine is not written down for the next server", "server/engine/link.py",
        "        self._noted = await asyncio.to_thread(note_engine, self.options.spool, process.pid)\n", "",
        ("tests/server/whole/test_outcomes.py::test_an_engine_that_was_stopped_when_its_server_died_is_ended_by_the_next_one",),
    ),
    Fault(
        "uploads that come together each have all the room", "server/library/uploads.py",
        "                self._come_bytes += len(chunk)\n", "                self._come_bytes = total\n",
        ("tests/server/library/test_uploads.py",),
    ),
    Fault(
        "one damaged job keeps the server from starting", "server/jobs/store.py",
        "    except ValueError:\n        return empty\n", "    except ValueError:\n        raise\n", (JOBS["desk"],),
    ),
    Fault(
        "a job that the disk damaged is run as another", "server/jobs/store.py",
        "else Started(_whole(rows[0]), document)", "else Started(_from_row(rows[0]), document)", (JOBS["desk"],),
    ),
    Fault(
        "an engine that hangs at its end is waited for", "server/engine/link.py",
        "            asyncio.get_running_loop().call_later(ENDING_S, self._end_late, self._process)\n", "",
        ("tests/server/engine/test_link.py::test_an_engine_that_does_not_end_for_a_reload_is_killed",),
    ),
    Fault(
        "delayed tasks of a disabled place are forgotten", "graph/schedule.py",
        "                found.append(task)\n        return sorted({", "                pass\n        return sorted({",
        ("tests/graph/test_schedule.py",),
    ),
)  # fmt: skip
