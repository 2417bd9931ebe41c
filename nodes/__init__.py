"""What a diffusion user wires: value types, recipes, the model pool, model families and the node functions."""
