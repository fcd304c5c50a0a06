"""What optimizers and their transforms stand on: declarations, state, the chain, the update of a variable."""
