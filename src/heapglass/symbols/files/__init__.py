"""Files that names come from: finding them, and reading symbol tables and DWARF."""
