"""What the end-to-end tests stand on: the built binaries as child processes,
and connections made of python3-grpcio and generated stubs, nothing else."""
