"""Profiles that were recorded elsewhere, made into a run or into folded text."""
