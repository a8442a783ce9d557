"""Measuring the ground: rigs, campaigns, the wrench database, learning."""
