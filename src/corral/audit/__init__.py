"""Who did what to what, written in the transaction that did it, kept for ever, searched by index."""
