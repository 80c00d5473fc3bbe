"""Training: what a person gives along with work that ends by itself, and how it is started."""
