"""Synthetic recordings: a writer of the format and a slow recorder that fills it by its rules.

Made to test readers against: `Writer` puts any tables into a file, right or wrong; `SlowRecorder`
follows format.h event by event, as the native core does, but in plain Python; `Oracle` remembers
every event and counts by brute force, knowing nothing of the format.
"""
