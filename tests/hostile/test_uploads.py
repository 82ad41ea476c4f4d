"""Uploads that must be refused, sent to the API as an author sends them."""

import tracemalloc
from collections.abc import Iterator
from hashlib import sha256

import pytest

from tests.api.site import Site
from tests.hostile.zoo import UploadCase, load, names, upload_of

PEAK_BYTES = 32 * 1024 * 1024
"""Memory that a refusal may take beyond its request: far less than any upload unpacks to."""

REFUSED = [name for name in names() if load(name).kind == "upload"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    opened = Site(tmp_path_factory.mktemp("site"))
    yield opened
    opened.close()


@pytest.mark.parametrize("name", REFUSED)
def test_it_is_refused_with_its_reason_and_nothing_is_kept(site: Site, name: str) -> None:
    case = load(name)
    assert isinstance(case, UploadCase)
    filename, content = upload_of(name, case)
    author = site.author(name)
    bot_id = site.bot(author)
    tracemalloc.start()
    answer = site.upload(author, bot_id, content, filename)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    problem = site.problem(422, answer, "bad-upload")
    assert problem["reason"] == case.expect.refused
    assert problem["detail"].isprintable(), "it may be shown on a terminal"
    assert peak_bytes < PEAK_BYTES + 3 * len(content)
    assert site.ok(200, site.client.get(f"/v1/bots/{bot_id}/versions", headers=author))["items"] == []
    assert site.queue.builds == [] and not site.blobs.has(sha256(content).hexdigest())
