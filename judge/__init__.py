"""Judges the exercises: compiles a reader's C++, calls it with random inputs, and says what is wrong."""
