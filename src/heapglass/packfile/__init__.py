"""Packed recordings as files: which parts there are, each compressed and checked.

What is in the parts is for others to say: `recording` reads the image, `symbols` the names.
docs/packed.md has the format.
"""
