"""Recordings made of any other source of a heap, so that every command can read it."""
