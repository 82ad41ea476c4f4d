"""The league's own application, which here never remakes an answer that it keeps."""

from fastapi import FastAPI

from deadheat.api import services
from deadheat.api.app import create_app


def app() -> FastAPI:
    services.FRESH_SECONDS = float("inf")
    return create_app()
