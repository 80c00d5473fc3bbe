.PHONY: test
test:
	@command -v uv >/dev/null || python3 -m pip install --quiet uv
	@uv sync --quiet --locked --compile-bytecode
	@uv run --no-sync pytest
