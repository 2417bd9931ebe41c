"""What tests of the whole server stand on: a real `latentgraph serve`, nodes that misbehave, and raw connections."""
