"""Options and fixtures of every test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pytest
from hypothesis import HealthCheck, settings

from tests.support import in_ci

if TYPE_CHECKING:
    from pathlib import Path

# No deadline: the time of one example says more about the machine than about the code.
settings.register_profile("local", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeatable", settings.get_profile("local"), derandomize=True, print_blob=True)
settings.load_profile("repeatable" if in_ci() else "local")


class Golden(Protocol):
    """Compares bytes with the file that holds what is expected."""

    def __call__(self, actual: bytes, expected: Path) -> None: ...


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--update-golden``."""
    parser.addoption("--update-golden", action="store_true", help="write what came out into the expected files instead")


@pytest.fixture
def unmeasured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that this test starts are not measured for coverage, which takes files, memory, time and imports."""
    monkeypatch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """``golden(actual, path)``: equal to the file, or with ``--update-golden`` written to it."""
    update = request.config.getoption("--update-golden")

    def check(actual: bytes, expected: Path) -> None:
        if update:
            expected.write_bytes(actual)
        else:
            # Text where it is text, so that a failure shows lines.
            assert expected.read_bytes().decode("utf-8", "backslashreplace") == actual.decode(
                "utf-8", "backslashreplace"
            )
            assert expected.read_bytes() == actual

    return check
