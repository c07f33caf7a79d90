"""What readers do with their own answers, on their own machines."""
