"""What people bring along with work of any kind: uploads, secrets, and the runtimes that work runs in."""
