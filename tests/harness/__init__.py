"""What the behaviour tests share: programs, runs with and without heapglass, the naive model.

Nothing here imports the recorder's own code; recordings are read through `heapglass.recording`.
"""
