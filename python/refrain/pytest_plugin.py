"""A pytest fixture: `pytest -p refrain.pytest_plugin`, or in a conftest.py
`pytest_plugins = ["refrain.pytest_plugin"]`.

    def test_decode(refrain_audit):        # the whole test is a window
        graph.replay()

    @pytest.mark.refrain(fail_on="warning", require=["RF401"])
    def test_strict(refrain_audit): ...

A test whose machine has no GPU, or no auditor, is skipped with the reason.
"""

import pytest

import refrain


def pytest_configure(config):
    config.addinivalue_line("markers", "refrain(fail_on, require): the threshold of the refrain_audit fixture")


@pytest.fixture
def refrain_audit(request):
    """A window over the test; it fails the test by what the audit finds."""
    marker = request.node.get_closest_marker("refrain")
    options = dict(marker.kwargs) if marker else {}
    window = refrain.audit(**options)
    try:
        opened = window.__enter__()
    except refrain.NotAvailable as reason:
        pytest.skip(str(reason))
    yield opened
    try:
        window.__exit__(None, None, None)
    except refrain.AuditFailed as failed:
        pytest.fail(str(failed), pytrace=False)
