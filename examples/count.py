"""Training in miniature: epochs that take a while, a loss that falls, a state worth keeping.

Suspend it while it runs and resume it: it goes on with the epoch after the last one it saved.
"""

import argparse
import json
import time
from pathlib import Path

import corral_sdk

STATE = Path("state.json")


def load() -> tuple[int, float]:
    """The next epoch and the loss so far."""
    saved = corral_sdk.resume_path()
    if saved is None:
        return 0, 1.0
    state = json.loads(saved.read_text())
    print(f"going on after epoch {state['epoch']}", flush=True)
    return state["epoch"] + 1, state["loss"]


def save(epoch: int, loss: float) -> None:
    draft = STATE.with_suffix(".new")
    draft.write_text(json.dumps({"epoch": epoch, "loss": loss}))
    draft.replace(STATE)
    corral_sdk.checkpoint(STATE, step=epoch)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=1.0, help="for each epoch")
    options = parser.parse_args()
    corral_sdk.leaving()  # from now on, being told to go is heard
    first, loss = load()
    for epoch in range(first, options.epochs):
        time.sleep(options.seconds)
        loss *= 0.9
        print(f"epoch {epoch}: loss {loss:.4f}", flush=True)
        corral_sdk.report(step=epoch, loss=loss)
        save(epoch, loss)
        if corral_sdk.leaving():
            print("told to go; everything is saved", flush=True)
            return
    corral_sdk.done()


if __name__ == "__main__":
    main()
