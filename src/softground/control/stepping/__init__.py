"""Bipeds on small feet, which balance by where they step."""
