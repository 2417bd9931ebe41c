"""What a diffusion user wires: value types, recipes, the model pool, model families and the node functions."""

import os

# Nothing here downloads. Every load names a local folder; this is the second lock, read by the libraries when they are imported.
os.environ["HF_HUB_OFFLINE"] = "1"
