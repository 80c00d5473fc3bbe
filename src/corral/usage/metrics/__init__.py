"""What work reports about itself: loss, accuracy and the like, step by step."""
