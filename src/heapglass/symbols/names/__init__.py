"""Names as they are kept and shown: demangled, in tables, from JIT compilers."""
