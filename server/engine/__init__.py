"""The engine in a process of its own, and the server's line to it."""
