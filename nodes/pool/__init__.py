"""The model pool of one device: live model parts built from recipes, pinned while in use, evicted when room is needed."""

from nodes.pool.exclusive import exclusively
from nodes.pool.pool import Pool, PoolFull, Resident, clear_frames

__all__ = ["Pool", "PoolFull", "Resident", "clear_frames", "exclusively"]
