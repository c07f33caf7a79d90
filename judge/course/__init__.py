"""What an instructor does with a class: hands exercises out, and grades what is handed in."""
