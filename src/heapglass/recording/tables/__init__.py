"""The tables in a recording, as arrays of the model."""
