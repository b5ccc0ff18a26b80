"""The report: a heap as one HTML page that needs no network, no server and no build step.

Python turns a `HeapSource` into columns (`document.py`), packs them, and puts them into a page
beside its styles and scripts (`page.py`, `assets/`); trees and tables are made in the page.
"""
