"""Keep the model libraries from writing progress bars and advice over ours while they load."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from nodes.libraries import import_diffusers

#: Loggers that tell a user of advice for programmers.
LOGGERS: Final = ("torchao", "torch.utils._pytree")
#: The libraries' switches are process-wide, so loads in one process take turns; devices have processes of their own.
_turn: Final = threading.RLock()


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Only errors from transformers and diffusers while the block runs; then their settings as they were."""
    with _turn, ExitStack() as restored:
        for name in LOGGERS:  # before anything imports these: they write while they are imported
            logger = logging.getLogger(name)
            restored.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.ERROR)
        import_diffusers()
        from diffusers.utils import logging as diffusers_logging
        from transformers.utils import logging as transformers_logging

        for library in (diffusers_logging, transformers_logging):
            restored.callback(library.set_verbosity, library.get_verbosity())
            library.set_verbosity_error()
            if library.is_progress_bar_enabled():
                restored.callback(library.enable_progress_bar)
                library.disable_progress_bar()
        yield
