"""Measures whole commands and prints ratios.

Reading order: screen, terminal, commands, files, others, table, bench, then the rows in looking and checking.
"""
