"""heapglass: which call stacks own the memory of any native program, exactly and live."""

__version__ = "0.1.0"
