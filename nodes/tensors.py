"""A tensor on a wire: torch memory, or the bytes of a stored file that torch has not been asked to look at yet.

Importing this module imports neither torch nor numpy, so that a finished picture can be taken from the store and saved
in a process that never loads torch (which takes seconds).
"""

from __future__ import annotations

import ctypes
import math
import threading
from typing import TYPE_CHECKING, Any, Final

from graph.types import TensorBytes

if TYPE_CHECKING:
    import numpy as np
    import torch

#: safetensors dtype name -> (torch name, bytes per element, numpy name or None where numpy has no such type).
DTYPES: Final[dict[str, tuple[str, int, str | None]]] = {
    "F64": ("float64", 8, "float64"),
    "F32": ("float32", 4, "float32"),
    "F16": ("float16", 2, "float16"),
    "BF16": ("bfloat16", 2, None),
    "I64": ("int64", 8, "int64"),
    "I32": ("int32", 4, "int32"),
    "I16": ("int16", 2, "int16"),
    "I8": ("int8", 1, "int8"),
    "U8": ("uint8", 1, "uint8"),
    "BOOL": ("bool", 1, "bool"),
    "F8_E4M3": ("float8_e4m3fn", 1, None),
    "F8_E5M2": ("float8_e5m2", 1, None),
}
_BY_TORCH_NAME: Final = {f"torch.{entry[0]}": name for name, entry in DTYPES.items()}
_BY_NUMPY_NAME: Final = {entry[2]: name for name, entry in DTYPES.items() if entry[2] is not None}


class WireTensor:
    """A tensor that is never changed after it is made; `torch()` and `numpy()` share its memory where they can."""

    __slots__ = ("_lock", "_stored", "_tensor", "dtype", "shape")

    def __init__(self, dtype: str, shape: tuple[int, ...], stored: TensorBytes | None, tensor: torch.Tensor | None) -> None:
        self.dtype: Final = dtype
        self.shape: Final = shape
        self._stored = stored
        self._tensor = tensor
        self._lock = threading.Lock()

    @classmethod
    def of(cls, tensor: torch.Tensor) -> WireTensor:
        """Wrap torch memory, without a copy. Gradients are cut off."""
        detached = tensor.detach() if tensor.requires_grad else tensor
        return cls(_BY_TORCH_NAME[str(tensor.dtype)], tuple(tensor.shape), None, detached)

    @classmethod
    def of_numpy(cls, array: np.ndarray[Any, Any]) -> WireTensor:  # Any: shape and dtype are read at run time
        """Wrap a numpy array, without a copy if it is C-contiguous, and without torch."""
        import numpy as np  # heavy: light nodes import this module

        whole = np.ascontiguousarray(array).reshape(array.shape)
        data = memoryview(whole.reshape(-1).view(np.uint8).data).toreadonly()
        return cls.stored(TensorBytes(_BY_NUMPY_NAME[str(array.dtype)], tuple(array.shape), data))

    @classmethod
    def stored(cls, stored: TensorBytes) -> WireTensor:
        """Wrap the bytes of a stored tensor, without a copy. Raises ValueError if shape and size disagree."""
        shape = tuple(int(side) for side in stored.shape)
        expected = math.prod(shape) * DTYPES[stored.dtype][1]
        if stored.data.nbytes != expected:
            raise ValueError(
                f"a stored tensor of {stored.dtype} {shape} has {stored.data.nbytes} bytes, not {expected}; the file is damaged"
            )
        return cls(stored.dtype, shape, stored, None)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return math.prod(self.shape) * DTYPES[self.dtype][1]

    @property
    def version(self) -> int:
        """Torch's count of in-place writes; 0 while torch has not been given the memory."""
        return 0 if self._tensor is None else int(self._tensor._version)

    @property
    def device(self) -> str:
        """Where the memory is: "cpu", "cuda:0", ..."""
        return "cpu" if self._tensor is None else str(self._tensor.device)

    def torch(self) -> torch.Tensor:
        """The tensor for torch, zero-copy. Do not write to it: it may be stored memory, which others read too."""
        with self._lock:
            if self._tensor is None:
                assert self._stored is not None
                self._tensor = _torch_of(self._stored)
            return self._tensor

    def numpy(self) -> np.ndarray[Any, Any]:  # Any: shape and dtype are read at run time
        """The tensor for numpy, read-only, zero-copy on the host; types numpy lacks (bfloat16) come as float32."""
        import numpy as np  # heavy: light nodes import this module

        if self._tensor is not None:
            host = self._tensor.cpu()
            array: np.ndarray[Any, Any] = (host if DTYPES[self.dtype][2] else host.float()).numpy()
            array.flags.writeable = False
            return array
        assert self._stored is not None
        name = DTYPES[self.dtype][2]
        if name is not None:
            return np.frombuffer(self._stored.data, dtype=name).reshape(self.shape)
        if self.dtype == "BF16":  # the upper half of a float32
            wide = np.frombuffer(self._stored.data, dtype=np.uint16).astype(np.uint32) << np.uint32(16)
            return wide.view(np.float32).reshape(self.shape)
        return np.asarray(self.torch().float().numpy())

    def bytes(self) -> TensorBytes:
        """What the store writes: C-contiguous bytes on the host, zero-copy where the memory is that already."""
        if self._stored is not None:
            return self._stored
        import torch  # heavy; the tensor exists, so torch is loaded already

        assert self._tensor is not None
        # reshape before view: a 0-dim tensor cannot be viewed as another dtype
        flat = self._tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
        return TensorBytes(self.dtype, self.shape, memoryview(flat.numpy().data).toreadonly())

    def to(self, device: str) -> WireTensor:
        """The same tensor on `device`; self if it is there."""
        if self.device == torch_device(device):
            return self
        return WireTensor.of(self.torch().to(torch_device(device)))

    def __repr__(self) -> str:
        return f"WireTensor({self.dtype}, {self.shape}, {self.device})"


def torch_device(device: str) -> str:
    """What torch calls a device of ours: the virtual devices `cpu:0`, `cpu:1`, ... are all "cpu"."""
    return "cpu" if device.split(":", maxsplit=1)[0] == "cpu" else device


def _torch_of(stored: TensorBytes) -> torch.Tensor:
    import torch  # heavy: only asked for where a worker computes

    dtype: torch.dtype = getattr(torch, DTYPES[stored.dtype][0])
    if stored.data.nbytes == 0:
        return torch.empty(stored.shape, dtype=dtype)
    # torch warns about read-only memory, and silencing a warning is process-wide; it is shown the same memory by its
    # address instead. Nodes do not write to their inputs, and the executor checks it.
    import numpy as np

    array = np.frombuffer(stored.data, dtype=np.uint8)
    window = (ctypes.c_ubyte * array.nbytes).from_address(array.ctypes.data)
    window.owner = array  # type: ignore[attr-defined]  # torch keeps the window alive, the window keeps the memory
    return torch.frombuffer(window, dtype=dtype).reshape(stored.shape)
