"""Use cases of the validator: board, upload a batch, annul; and the ports that they need."""
