"""The recording as a file: found, opened, checked, copied.

Nothing here imports numpy: `heapglass run` and gdb read recordings without it.
"""
