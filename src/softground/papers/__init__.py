"""Papers as runnable studies: their tables and figures beside ours."""
