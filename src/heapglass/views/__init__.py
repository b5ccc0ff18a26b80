"""What a front end shows: plain values and texts, ready for a terminal, a page or a program.

A view asks its source for numbers and its resolver for names, each only as far as needed, and
gives back frozen values. It draws nothing and knows no terminal.
"""
