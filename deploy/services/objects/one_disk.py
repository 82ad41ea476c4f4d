"""What other disks would make up for, and there are none: a filter before Swift's proxy.

Two who write the same blob at once: Swift answers the slower of them 202, for what is there is newer than what it
brings, and without an ETag. S3 knows no such answer, and its clients take it for a broken store. They hear 503 instead,
and try again, as all of them do.

One who reads a blob while it is written again: Swift looks for the newest file of a folder and opens it, and when a
writer has replaced it in between, the blob seems not to be there. It is looked for once more.
"""

from swift.common.swob import HTTPServiceUnavailable, Request, wsgify

OBJECT_PARTS = 5
"""Of a path, /v1/account/bucket/name; a bucket that is made again is answered with 202, too, and rightly."""


def filter_factory(_, **__):
    """What Paste asks for a filter."""
    return OneDisk


class OneDisk:
    """The filter."""

    def __init__(self, app):
        self.app = app

    @wsgify
    def __call__(self, request):
        if len(request.path.split("/", OBJECT_PARTS - 1)) < OBJECT_PARTS:
            return request.get_response(self.app)
        again = Request(request.environ.copy())
        response = request.get_response(self.app)
        if request.method == "PUT" and response.status_int == 202:
            return HTTPServiceUnavailable(request=request)
        if request.method in ("GET", "HEAD") and response.status_int == 404:
            return again.get_response(self.app)
        return response
