"""What workers get from the nodes layer."""

from __future__ import annotations

import threading

import torch

from graph.context import Context
from graph.node import declaration_of
from nodes.decode import decode
from nodes.runtime import DeviceRuntime, worker


def test_gradients_are_off_and_threads_set_in_the_calling_thread():
    runtime = DeviceRuntime("cpu", 1)
    seen = []

    def node(ctx, x):
        seen.append((torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.get_num_threads()))
        return x

    def lane():
        runtime.prepare(declaration_of(decode).spec)
        seen.append(runtime.call(node, Context(), {"x": 5}))

    thread = threading.Thread(target=lane)
    thread.start()
    thread.join()
    assert seen == [(False, False, 1), 5]
    assert torch.is_grad_enabled()


def test_models_stay_between_calls(tiny):
    runtime = DeviceRuntime("cpu", 1)
    assert runtime.resident() == {}
    with runtime.borrow(tiny.vae) as one:
        pass
    with runtime.borrow(tiny.vae) as two:
        assert one is two
    assert runtime.resident() == {tiny.vae.weights: tiny.vae.nbytes}
    runtime.trim()
    assert runtime.resident() == {tiny.vae.weights: tiny.vae.nbytes}


def test_the_budget_is_a_part_of_the_device():
    assert 2**28 < DeviceRuntime("cpu", 1).pool.budget_bytes < 2**45
    assert DeviceRuntime("cpu", 1, budget_bytes=7).pool.budget_bytes == 7


def test_a_worker_process_finds_every_node(tmp_path):
    functions, runtime = worker("cpu", 1, 2**30, tmp_path)
    assert functions.function("denoise").spec.place == "device"
    assert functions.function("tokenize").spec.place == "host"
    assert functions.function("prune_tokens").spec.place == "host"
    assert runtime.device == "cpu"
