"""What a kind of work is, and what Corral does for all kinds alike. `server.kinds` lists them."""
