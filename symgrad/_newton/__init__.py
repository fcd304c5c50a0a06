"""What steps of second order in the graph stand on: values elsewhere, conjugate gradients, their state."""
