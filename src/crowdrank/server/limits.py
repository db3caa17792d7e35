"""How much one address or token may do. Kept in memory, in each process."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import Any

from crowdrank.server.errors import ApiError

MOST_KEYS = 20_000  # addresses and tokens that are remembered


@dataclass(frozen=True, slots=True)
class Rate:
    """So many at once, and so many more each second."""

    burst: float
    per_second: float


@dataclass(frozen=True, slots=True)
class Rates:
    """The rates of a server. Many annotators may share one address: a lecture hall, a company."""

    token: Rate = Rate(2000, 200)
    address: Rate = Rate(10_000, 2000)
    join: Rate = Rate(500, 5)
    failure: Rate = Rate(60, 1)  # tokens that are wrong, from one address


class RateLimits:
    """Counts requests by address and by token; more than the rates allow are refused."""

    def __init__(self, rates: Rates) -> None:
        self.rates = rates
        self._lock = threading.Lock()
        self._left: dict[Any, tuple[float, float]] = {}  # what is left, and when

    def _take(self, key: Any, rate: Rate) -> bool:
        now = time.monotonic()
        with self._lock:
            left, then = self._left.pop(key, (rate.burst, now))
            left = min(rate.burst, left + (now - then) * rate.per_second)
            allowed = left >= 1
            self._left[key] = left - 1 if allowed else left, now
            if len(self._left) > MOST_KEYS:
                del self._left[next(iter(self._left))]
        return allowed

    def _check(self, key: Any, rate: Rate) -> None:
        if not self._take(key, rate):
            raise ApiError(429, "too many requests; wait a little and try again", "too_many_requests")

    def check_address(self, address: str) -> None:
        """Any request."""
        self._check(("address", address), self.rates.address)

    def check_token(self, token: int) -> None:
        """A request with a token."""
        self._check(("token", token), self.rates.token)

    def check_join(self, address: str) -> None:
        """Somebody joins."""
        self._check(("join", address), self.rates.join)

    def check_failure(self, address: str) -> None:
        """A wrong token. Right ones pass all the same: others may share the address."""
        self._check(("failure", address), self.rates.failure)
