"""When Yardmaster is not asked."""

from yardmaster_jedi.breaker import CircuitBreaker


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_it_opens_after_failures_in_a_row() -> None:
    breaker = CircuitBreaker(2, 60, Clock())
    assert not breaker.failed()
    breaker.succeeded()
    assert not breaker.failed() and breaker.allows()
    assert breaker.failed() and not breaker.allows()


def test_one_caller_tries_after_the_rest() -> None:
    clock = Clock()
    breaker = CircuitBreaker(1, 60, clock)
    breaker.failed()
    clock.now = 59.9
    assert not breaker.allows()
    clock.now = 60.0
    assert breaker.allows() and not breaker.allows()
    breaker.succeeded()
    assert breaker.allows() and breaker.allows()


def test_a_failed_try_opens_it_again() -> None:
    clock = Clock()
    breaker = CircuitBreaker(3, 60, clock)
    assert breaker.failed(at_once=True)
    clock.now = 60.0
    assert breaker.allows()
    breaker.failed()
    clock.now = 119.9
    assert not breaker.allows()


def test_a_try_that_never_ends_holds_nobody_up_for_ever() -> None:
    clock = Clock()
    breaker = CircuitBreaker(1, 60, clock)
    breaker.failed()
    clock.now = 60.0
    assert breaker.allows()
    clock.now = 120.0
    assert breaker.allows()
