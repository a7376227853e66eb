"""What scripts/bench diff measures with."""
