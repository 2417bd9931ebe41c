"""The durable queue: what was accepted, in which order it goes to the engine, and how it ended."""
