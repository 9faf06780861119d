"""What bench/table and bench/plot are made of."""
