"""Protection from strangers: connections, rates, uploads, sessions, caches. The base of all middleware is plain ASGI,
because the framework's own middleware class would put a queue between a route and its stream.
"""

from starlette.types import ASGIApp, Receive, Scope, Send


class Around:
    """An application around another: `request` gets each HTTP request first; everything else passes through."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self.request if scope["type"] == "http" else self._app)(scope, receive, send)

    async def request(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        raise NotImplementedError
