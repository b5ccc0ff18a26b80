"""The command line: one module per command, found through the table in `main`."""
