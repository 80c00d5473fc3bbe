"""Secrets that people carry: how they are made, recognised and stored (only as hashes)."""

import hashlib
import hmac
import re
import secrets

TOKEN = re.compile(r"corral_(t[0-9a-z]{22})_([A-Za-z0-9_-]{43})")
# Read aloud and typed from a blackboard: no vowels (no words), nothing that looks like something else.
_CODE_ALPHABET = "BCDFGHJKMNPQRSTVWXZ23456789"


def new_secret() -> str:
    return secrets.token_urlsafe(32)


def hash_secret(secret: str) -> str:
    """Fit for secrets with 256 bits of their own; passwords are hashed by `passwords`."""
    return hashlib.sha256(secret.encode()).hexdigest()


def token_text(token_id: str, secret: str) -> str:
    return f"corral_{token_id}_{secret}"


def csrf_token(session_secret: str) -> str:
    """Belongs to one session, cannot be made without its secret, and need not be stored."""
    return hmac.new(session_secret.encode(), b"csrf", hashlib.sha256).hexdigest()


def new_join_code() -> str:
    letters = [secrets.choice(_CODE_ALPHABET) for _ in range(10)]
    return "".join(letters[:5]) + "-" + "".join(letters[5:])


def read_join_code(text: str) -> str:
    """The code as stored, however it was typed."""
    letters = re.sub(r"[^A-Z0-9]", "", text.upper())
    return f"{letters[:5]}-{letters[5:]}"
