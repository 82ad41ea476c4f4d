"""Stand in for a browser: keep cookies, say where a request comes from, fill in forms and post them."""

from html.parser import HTMLParser
from typing import Any

import httpx

from tests.api.site import PASSWORD, Site

PAGE = {"Accept": "text/html"}
OURS = {**PAGE, "Origin": "http://league", "Sec-Fetch-Site": "same-origin"}


class Form:
    def __init__(self, action: str) -> None:
        self.action = action
        self.fields: dict[str, str] = {}
        self.boxes: dict[str, str] = {}  # all unticked


class Read(HTMLParser):
    """Reads the forms and the text of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self.tags: list[str] = []
        self.text = ""
        self.token = ""
        self._select = ""
        self._area = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.tags.append(tag)
        if tag == "form":
            self.forms.append(Form(found["action"]))
        elif tag == "meta" and found.get("name") == "csrf":
            self.token = found["content"]
        elif found.get("type") == "checkbox" and "name" in found and self.forms:
            self.forms[-1].boxes[found["name"]] = found["value"]
        elif tag in {"input", "textarea"} and "name" in found:
            self.forms[-1].fields[found["name"]] = found.get("value", "")
            self._area = found["name"] if tag == "textarea" else ""
        elif tag == "button" and "formaction" in found:
            self.forms.append(Form(found["formaction"]))
            self.forms[-1].fields = self.forms[-2].fields  # the same form with another address
        elif tag == "select":
            self._select = found.get("name", "")
        elif tag == "option" and self._select and ("selected" in found or self._select not in self.forms[-1].fields):
            self.forms[-1].fields[self._select] = found["value"]

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._area:
            self.forms[-1].fields[self._area] += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._area = ""


class Browser:
    """A browser at a site; the site closes it."""

    def __init__(self, site: Site) -> None:
        self.client = site.connected()
        self.page = Read("")
        self.answer = httpx.Response(200)

    def get(self, path: str, status: int = 200) -> Read:
        return self.show(self.client.get(path, headers=PAGE, follow_redirects=True), status)

    def form(self, action: str) -> Form:
        """Return the page's form that is posted to this address."""
        return next(form for form in self.page.forms if form.action.partition("#")[0] == action)

    def submit(self, action: str, status: int = 200, at: str = "", **values: str) -> Read:
        """Fill in and post a form of the page, or of the page `at`; the page that follows must have `status`."""
        if at:
            self.get(at)
        fields = {**self.form(action).fields, **values}
        return self.show(self.client.post(action, data=fields, headers=OURS, follow_redirects=True), status)

    def sign_up(self, name: str = "ada") -> "Browser":
        self.submit("/sign-up", at="/sign-up", name=name, password=PASSWORD)
        return self

    def sign_in(self, name: str, password: str = PASSWORD) -> "Browser":
        self.submit("/sign-in", at="/sign-in", name=name, password=password)
        return self

    def api(self, method: str, path: str, **more: Any) -> httpx.Response:
        """Send a request as a script of the page does."""
        headers = {**OURS, "Accept": "application/json", "X-CSRF-Token": self.page.token}
        return self.client.request(method, path, headers=headers, **more)

    def show(self, answer: httpx.Response, status: int) -> Read:
        assert answer.status_code == status, f"{answer.status_code}: {answer.text}"
        assert answer.headers["content-type"].startswith("text/html")
        self.answer, self.page = answer, Read(answer.text)
        return self.page
