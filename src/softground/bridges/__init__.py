"""Bridges: to MuJoCo's renderer and other programs."""
