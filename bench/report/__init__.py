"""The modules of bench/table and bench/plot."""
