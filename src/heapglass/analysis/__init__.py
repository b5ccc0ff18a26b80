"""What the numbers mean: ordering, grouping, filtering, leaks, who is responsible.

Pure functions over `heapglass.model` values. No I/O, no clock, no environment; names of frames
are handed in, never looked up here.
"""
