"""The engine: node declarations, workflow documents, keys, memo, planning and running. Knows nothing of torch or HTTP."""
