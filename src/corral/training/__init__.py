"""The kind `training`: work that ends by itself, a command run by every replica."""
