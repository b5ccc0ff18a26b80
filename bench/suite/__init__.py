"""The parts of the benchmark suite; bench/run.py is its front."""
