"""The scheduling side of the organisation tree: guarantees, limits, weights; flavors."""
