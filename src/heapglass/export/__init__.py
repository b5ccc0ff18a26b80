"""Recordings for other tools: one module per format, found through the table in `formats`.

A format's module has `write(extract, out)`, or `write_table(table, out)` where it holds one of the
tables of `tables` at a time. What is exported is decided before: see `extract`.
"""
