"""What people keep: workflows and their versions, drafts, uploaded files, outputs, pictures of values."""
