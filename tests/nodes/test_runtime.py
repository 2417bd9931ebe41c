"""What workers get from the nodes layer."""

from __future__ import annotations

import threading

import torch

from graph.context import Context
from nodes.runtime import DeviceRuntime, setup


def test_gradients_are_off_and_threads_set_in_the_calling_thread(tiny):
    runtime = DeviceRuntime("cpu", threads=1)
    seen = []

    def node(ctx, x):
        seen.append((torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.get_num_threads()))
        return x

    thread = threading.Thread(target=lambda: seen.append(runtime.call(node, Context(), {"x": 5})))
    thread.start()
    thread.join()
    assert seen == [(False, False, 1), 5]


def test_models_stay_between_calls(tiny):
    runtime = DeviceRuntime("cpu")
    assert runtime.resident() == {}
    with runtime.borrow(tiny.vae) as one:
        pass
    with runtime.borrow(tiny.vae) as two:
        assert one is two
    assert runtime.resident() == {tiny.vae.weights: tiny.vae.nbytes}
    runtime.trim()
    assert runtime.peak_bytes() == 0


def test_the_budget_is_a_part_of_the_device():
    assert 2**28 < DeviceRuntime("cpu").pool.budget_bytes < 2**45
    assert DeviceRuntime("cpu", budget_bytes=7).pool.budget_bytes == 7


def test_a_worker_process_finds_every_node(tmp_path):
    functions, runtime = setup("cpu", 1, tmp_path)
    assert functions.function("denoise").spec.place == "device"
    assert functions.function("tokenize").spec.place == "host"
    assert functions.function("prune_tokens").spec.place == "host"
    assert runtime.device == "cpu"
