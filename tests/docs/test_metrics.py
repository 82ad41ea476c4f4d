"""The page of metrics lists what the code counts."""

from tests.docs.settings import METRICS, metrics


def test_the_page_of_metrics_lists_them_all() -> None:
    assert metrics() in METRICS.read_text(encoding="utf-8"), "python -m tests.docs.settings writes it anew"
