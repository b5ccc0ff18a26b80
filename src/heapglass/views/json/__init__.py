"""What `--json` prints: one module a command, and in `documents` what they share."""
