"""Modules of scripts/bench diff."""
