"""Measures whole commands and prints ratios.

Reading order: screen, terminal, commands, files, table, bench, then the rows in looking and checking.
"""
