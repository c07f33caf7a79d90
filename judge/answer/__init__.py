"""Judges one answer: compiles it, calls it with random inputs, and says what is wrong."""
