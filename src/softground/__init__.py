"""softground: legged robots on ground that yields."""
