"""Judges the exercises. The room `answer` judges one answer; `hunt`, above it, is the fault hunt; above both are `reader`, which judges
a reader's own answers, and `course`, which hands exercises out and grades a class."""
