"""The API's reference can be read and tried in a browser, and is accessible."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from tests.site.conftest import Open, keeps_out


@pytest.mark.parametrize("locale", ["en-US", pytest.param("ko-KR", marks=pytest.mark.all)])
def test_a_call_is_tried_where_it_is_read(visit: Open, locale: str) -> None:
    page = visit("/docs/api", locale=locale)
    page.locator(".opblock").first.wait_for()
    assert keeps_out(page) == []
    call = page.locator(".opblock", has=page.locator("[data-path='/v1/seasons']")).filter(has_text="GET").first
    call.get_by_role("button").first.click()
    call.get_by_role("button", name="Try it out").click()
    call.get_by_role("button", name="Execute").click()
    answered(page)
    # Some colours are not of our palette; each method has its own, and this part of the page has all methods.
    part = ".opblock-tag-section:has(.opblock.is-open)"
    methods = page.locator(f"{part} .opblock-summary-method").all_inner_texts()
    assert {"GET", "POST", "PATCH", "DELETE"} <= set(methods)
    assert keeps_out(page, dark=True, part=part) == []


def answered(page: Page) -> None:
    expect(page.locator(".live-responses-table tbody .response-col_status").first).to_contain_text("200")
    expect(page.locator(".live-responses-table .microlight").first).to_contain_text("items")
