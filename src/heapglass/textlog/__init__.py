"""The text log of allocator calls (docs/log-format.md): from its bytes to a `HeapSource`.

Read block by block with numpy, entry lines all at once and anything odd one by one; put in order
by sequence number; replayed against a ledger of live blocks. Memory is bounded by what is live, by
the distinct stacks, and by a window of entries.
"""
