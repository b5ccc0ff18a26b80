"""Words, numbers and characters of a screen: how each is written. Knows no view."""
