"""What `heapglass core` and gdb show of a core: its blocks, whose they are, what is free.

Imports nothing itself: gdb takes `free` and `hexdump` in a Python without numpy.
"""
