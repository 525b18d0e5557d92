"""The validator as it runs in service: worker processes on one port, and a parent that keeps them running.

supervisor    starts the workers, starts again the one that dies, ends all of them in order
worker        one process: the application under uvicorn, warm before it listens
connections   how long a client may take, and how many may be connected
noticeboard   what each worker says of itself, in memory that all of them share
all_workers   metrics and readiness of all workers, whichever of them is asked
"""
