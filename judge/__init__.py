"""Judges the exercises: compiles a reader's C++, meets it with drawn inputs, and says what is wrong."""
