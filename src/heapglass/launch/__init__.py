"""Starting a program with the library in it, and what is left to do when it has ended.

On the way of every `heapglass run`, so nothing here imports more of the standard library than it
needs: no pathlib, subprocess, argparse or tempfile; and values are named tuples, because the
import of dataclasses alone takes 5 ms, and that of typing 8 (see tuples.py).
"""
