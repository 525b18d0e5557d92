"""Load for the running service: the bench, the peers it is compared with, and rush hours for locust."""
