"""The engine process: plans and runs jobs for a server, and ends when that is gone. Started by `server.engine.link`.

The main thread only reads messages, so that a ping or a cancel waits for nothing. Plans are made by a few planners,
questions are answered by threads of their own, one thread sends. No thread of this process runs a node on a device or
imports torch.
"""

from __future__ import annotations

import faulthandler
import itertools
import os
import signal
import socket
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from graph.child import die_with_parent
from graph.collector import relax_collector
from graph.engine import Engine
from graph.errors import LatentgraphError, WorkflowError
from graph.folder import StoreUnavailable
from graph.places import PlaceStatus
from server.engine import answers, messages
from server.engine.equipment import equipment_of, limits_of
from server.engine.failures import INTERNAL, job_problem
from server.engine.framing import BadFrame, Pipe, Vocabulary
from server.engine.log import Log
from server.engine.options import EngineOptions
from server.engine.outbox import Outbox
from server.engine.outcome import Teller, planned_rows
from server.engine.work import Work
from server.jobs.record import MOST_TRIES
from server.problems import Refusal

#: One that is long must not hold up another.
PLANNERS: Final = 2
ANSWERERS: Final = 2
#: Ids of jobs that have ended, remembered so that a late repetition starts nothing.
REMEMBERED: Final = 10_000
#: How long what waits to be sent may take when the engine ends.
LAST_WORDS_S: Final = 5.0
#: Seconds between two looks at the places; how many looks share one count of what is kept.
STATUS_S: Final = 1.0
FACTS_EVERY: Final = 5


class EngineProcess:
    """What the engine process does; one per process."""

    def __init__(self, pipe: Pipe, options: EngineOptions, log: Log) -> None:
        self._pipe, self._options, self._log = pipe, options, log
        self._outbox = Outbox(pipe.send, log.mistake)
        folders = {"LATENTGRAPH_HOME": options.home, "outputs": options.output_folder, "~": Path.home()}
        self._teller = Teller(folders)
        self._engine: Engine | None = None
        self._ready = threading.Event()
        self._over = threading.Condition()
        self._works: dict[str, Work] = {}
        self._ended: OrderedDict[str, None] = OrderedDict()
        self._numbers = itertools.count(1)
        self._is_quitting = False
        #: Since when each thread that plans does so, and for which job ("" for a question).
        self._planning: dict[int, tuple[float, str]] = {}
        self._planners = ThreadPoolExecutor(PLANNERS, "latentgraph-planner")
        self._answerers = ThreadPoolExecutor(ANSWERERS, "latentgraph-answerer")
        self._slow = ThreadPoolExecutor(1, "latentgraph-keeper")
        self._on: dict[type, Callable[[Any], object]] = {  # Any: each takes the message it is listed under
            messages.Submit: self._submit,
            messages.Cancel: self._cancel,
            messages.Prioritise: self._prioritise,
            messages.Watch: self._watch,
            messages.Ask: self._ask,
            messages.Ping: lambda ping: self._outbox.put(messages.Pong(ping.number)),
            messages.Quit: self._quit,
        }

    def serve(self) -> None:
        """Do what the server says until it says quit or is gone. Does not return."""
        threading.Thread(target=self._set_up, name="latentgraph-start", daemon=True).start()
        try:
            while True:
                message = self._pipe.receive()
                self._on[type(message)](message)
        except (EOFError, OSError):
            self._log.write("info", "the server is gone; the engine ends")
        except BadFrame as error:
            self._log.write("error", f"the server sent what is no message; the engine ends: {error}")
        except BaseException as error:
            self._log.mistake(error)
            raise
        finally:
            self._leave_at_once()

    # ---- beginning and end ----

    def _set_up(self) -> None:
        options = self._options
        try:
            equipment = equipment_of(options)
            self._engine = engine = Engine(
                equipment.library,
                options.home,
                devices=options.devices,
                workers="process",
                setup=equipment.setup,
                limits=limits_of(options, equipment.device_bytes),
                device_class=equipment.device_class,
                host_workers=options.host_workers,
                ledger=options.ledger,
                most_tries=MOST_TRIES,
                time_limits=options.time_limits_s,
                default_time_limit=options.time_limit_s,
                cancel_grace_s=options.cancel_grace_s,
                heartbeat_s=options.worker_silent_s,
            )
        except Exception as error:
            if not isinstance(error, (LatentgraphError, OSError)):
                self._log.mistake(error)
            self._outbox.put(messages.Failed(self._teller.text(str(error))))
            self._outbox.close(LAST_WORDS_S)
            os._exit(1)
        relax_collector()
        self._outbox.put(messages.Hello(messages.PROTOCOL, list(engine.devices), engine.environment, equipment.catalogue))
        self._ready.set()
        threading.Thread(target=self._tell_status, name="latentgraph-status", daemon=True).start()

    def _started(self) -> Engine:
        """The engine, once it is there."""
        self._ready.wait()
        assert self._engine is not None
        return self._engine

    def _quit(self, message: messages.Quit) -> None:
        self._is_quitting = True
        threading.Thread(target=self._drain, args=(message.grace_s,), name="latentgraph-drain").start()

    def _drain(self, grace_s: float) -> None:
        """Let what runs end by itself for a time, then leave. What did not end stays the server's to submit again."""
        until = time.monotonic() + grace_s
        with self._over:
            self._over.wait_for(lambda: not self._running(), timeout=max(0.0, until - time.monotonic()))
            left = list(self._works.values())
        for work in left:
            work.is_left = True  # also one that is being planned, should it still start
        if self._engine is None:
            self._leave_at_once()
        self._started().close()
        self._outbox.close(LAST_WORDS_S)
        os._exit(0)

    def _running(self) -> list[Work]:
        return [work for work in self._works.values() if work.handle is not None]

    def _leave_at_once(self) -> None:
        """End with everything that was started here; nothing is waited for, nobody is there to be told."""
        if self._engine is not None:
            with suppress(Exception):
                self._engine.abandon()
        if os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)  # also a child that is reading the node types
        os._exit(1)

    # ---- jobs ----

    def _submit(self, message: messages.Submit) -> None:
        if message.job in self._ended:
            return
        with self._over:
            if message.job in self._works:
                return
            work = self._works[message.job] = Work(message, next(self._numbers), self._teller, self._log, self._forget)
        self._planners.submit(self._carry_out, work)

    def _forget(self, work: Work) -> None:
        with self._over:
            self._works.pop(work.submit.job, None)
            self._ended[work.submit.job] = None
            while len(self._ended) > REMEMBERED:
                self._ended.popitem(last=False)
            self._over.notify_all()

    def _carry_out(self, work: Work) -> None:
        job = work.submit.job
        try:
            self._start(work)
        except WorkflowError as error:
            problems = self._teller.problems(error)
            refusal = Refusal.of_workflow(WorkflowError(problems))
            self._fail(
                work, job_problem(refusal.code, refusal.message, node=refusal.node, port=refusal.port, problems=refusal.problems)
            )
        except StoreUnavailable as error:
            self._log.mistake(error, job)
            self._fail(work, job_problem("disk_full", self._teller.text(str(error))))
        except Exception as error:  # a mistake of ours is this job's end, not the engine's
            self._log.mistake(error, job)
            self._fail(work, job_problem("internal", INTERNAL))

    def _fail(self, work: Work, problem: dict[str, Any]) -> None:  # Any: plain JSON
        if work.is_left:  # what it was planned with is being closed: that is no fault of the job
            return
        ended = work.end("failed", {"problem": problem})
        if ended is not None:
            self._outbox.put(ended)

    def _start(self, work: Work) -> None:
        engine, submit = self._started(), work.submit
        if work.is_over:
            return
        job, tries = submit.job, submit.tries
        with self._planned_in_time(job):
            compiled = engine.load(submit.document)
            plan = engine.plan(compiled, targets=submit.targets, seeds=submit.seeds, run_id=job, tries=tries)
        if work.is_over or self._is_quitting:
            return
        handle = engine.start(
            plan,
            output_folder=self._options.output_folder,
            priority=submit.priority,
            client=submit.client,
            listener=partial(self._outbox.look_at, work),
            is_quick_listener=True,
            run_id=job,
            tries=tries,
            sequence=work.number,
        )
        planned = messages.Planned(job, planned_rows(plan))
        with work.lock:
            if not work.is_over:
                self._outbox.put(planned)  # before anybody can see the run: nothing is told before it
                work.handle = handle
                handle.watch_previews(work.watched)
        if work.handle is None:
            handle.cancel()
            return
        if work.priority != submit.priority:
            handle.prioritise(work.priority)
        self._outbox.look_at(work)

    def _cancel(self, message: messages.Cancel) -> None:
        work = self._works.get(message.job)
        if work is None:
            return
        if work.handle is not None:
            work.handle.cancel()
            return
        ended = work.end("cancelled", {})
        if ended is not None:
            self._outbox.put(ended)
        if work.handle is not None:  # it was started between the two looks
            work.handle.cancel()

    def _prioritise(self, message: messages.Prioritise) -> None:
        work = self._works.get(message.job)
        if work is not None:
            work.priority = message.priority
            if work.handle is not None:
                work.handle.prioritise(message.priority)

    def _watch(self, message: messages.Watch) -> None:
        work = self._works.get(message.job)
        if work is not None:
            with work.lock:
                work.watched = message.wanted
                if work.handle is not None:
                    work.handle.watch_previews(message.wanted)

    # ---- places and memory ----

    def _tell_status(self) -> None:
        engine, before, facts = self._started(), None, dict[str, Any]()
        for tick in itertools.count():
            self._end_if_overdue()
            try:
                if tick % FACTS_EVERY == 0:
                    facts = self._facts(engine)
                status = messages.Status([self._place(place) for place in engine.places()], facts)
            except Exception as error:  # this thread is also the one that ends plans without end
                self._log.mistake(error)
            else:
                if status != before:
                    self._outbox.put(status)
                before = status
            time.sleep(STATUS_S)

    def _place(self, place: PlaceStatus) -> dict[str, Any]:  # Any: plain JSON
        found = place._asdict()
        job = found.pop("run")
        return {**found, "job": job, "message": self._teller.text(place.message)}

    def _facts(self, engine: Engine) -> dict[str, Any]:  # Any: plain JSON
        memo = engine.memories.memo
        facts: dict[str, Any] = {"ram_bytes": memo.values.bytes}
        with suppress(StoreUnavailable, OSError):  # then nobody knows, and the next look may
            facts["memo_bytes"] = memo.store.stats().bytes + memo.table.bytes_on_disk()
        return facts

    # ---- time ----

    @contextmanager
    def _planned_in_time(self, job: str) -> Iterator[None]:
        """Note that this thread plans, while the block lasts."""
        me = threading.get_ident()
        self._planning[me] = time.monotonic(), job
        try:
            yield
        finally:
            del self._planning[me]

    def _end_if_overdue(self) -> None:
        """End this process if a plan takes too long: its thread would never be free again. The ledger says whose it was."""
        limit = self._options.plan_limit_s
        for began, job in list(self._planning.values()):
            if time.monotonic() - began > limit:
                self._log.write(
                    "error", f"a plan took longer than {limit:g} s; the engine ends, for nothing else can end it", job=job
                )
                self._started().blame(job)
                os._exit(3)

    # ---- questions ----

    def _ask(self, message: messages.Ask) -> None:
        pool = self._slow if message.question in answers.SLOW else self._answerers
        pool.submit(self._answer, message)

    def _answer(self, message: messages.Ask) -> None:
        number = message.number
        try:
            answer: Any = messages.Answer(number, self._found(message))  # Any: or Refused
        except WorkflowError as error:
            answer = messages.Refused(number, Refusal.of_workflow(WorkflowError(self._teller.problems(error))).document())
        except Refusal as refusal:
            answer = messages.Refused(number, refusal.document())
        except Exception as error:
            self._log.mistake(error)
            answer = messages.Refused(number, Refusal("internal", "The engine made a mistake; its log says more.").document())
        self._outbox.put(answer)

    def _found(self, message: messages.Ask) -> answers.Answer:
        engine, asked = self._started(), message.question
        if asked in answers.QUICK:
            with self._planned_in_time(""):
                return answers.QUICK[asked](engine, message.arguments)
        if asked in answers.SLOW:
            return answers.SLOW[asked](engine, message.arguments)
        known = ", ".join([*answers.QUICK, *answers.SLOW])
        raise Refusal("not_found", f'The engine has no answer to "{asked}"; ask one of {known}.')


def main(arguments: list[str]) -> None:
    """Serve the server at the other end of the socket whose descriptor is the first argument; the second are the options."""
    fileno, options = arguments
    die_with_parent()
    # Ctrl-C and the service manager reach the whole group; the server says when we end.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    faulthandler.enable()
    os.environ.pop("PYTHONPATH", None)  # it was for us; workers get what is on our path
    pipe = Pipe(socket.socket(fileno=int(fileno)), Vocabulary(messages.FROM_SERVER))
    EngineProcess(pipe, EngineOptions.from_json(options), Log()).serve()


if __name__ == "__main__":
    main(sys.argv[1:])
