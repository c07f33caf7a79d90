"""The fault hunt: an exercise whose answer is a test that finds a fault."""
