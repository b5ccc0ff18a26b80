"""Synthetic recordings: a slow recorder that fills the format by its rules.

Made to test readers against: `SlowRecorder` follows format.h event by event, as the native core
does, but in plain Python, and puts its tables into a file with `heapglass.recording.file.writer`;
`Oracle` remembers every event and counts by brute force, knowing nothing of the format.
"""
