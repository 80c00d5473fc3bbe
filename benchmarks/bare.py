"""The yardstick: a FastAPI route that does nothing, served as Corral is."""

import sys

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel


class Status(BaseModel):
    status: str


app = FastAPI()


@app.get("/status")
async def status() -> Status:
    return Status(status="ok")


if __name__ == "__main__":
    uvicorn.run(
        app,
        port=int(sys.argv[1]),
        loop="uvloop",
        http="httptools",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
    )
