"""Trying heapglass out on this machine: what works, and what it costs.

Everything is measured in processes without Python: the driver that is shipped beside the library
does the work, or runs the user's program.
"""
