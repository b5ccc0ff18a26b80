"""From an address to names: ELF files, debug information, demangling and the cache of it all.

`symbolizer` gives the frames of an address; `executable` says what a program is before it is
started. Imports nothing itself, so that the launcher can have `executable` in a few milliseconds.
"""
