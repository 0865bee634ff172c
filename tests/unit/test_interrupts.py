"""Ctrl-C: once, twice, and while cleaning up."""

import os
import signal

import pytest

from mysqlprof.interrupts import Interrupted, Interrupts


def press_ctrl_c(number: signal.Signals = signal.SIGINT) -> None:
    os.kill(os.getpid(), number)


def test_before_measuring_the_first_one_stops_at_once():
    with Interrupts(), pytest.raises(Interrupted):
        press_ctrl_c()


def test_while_measuring_the_first_one_is_only_noted_and_the_second_stops():
    with Interrupts() as interrupts:
        interrupts.defer()
        press_ctrl_c()
        assert interrupts.requested
        with pytest.raises(Interrupted):
            press_ctrl_c()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_being_told_to_end_stops_at_once_even_while_measuring(number):
    with Interrupts() as interrupts:
        interrupts.defer()
        with pytest.raises(Interrupted):
            press_ctrl_c(number)


def test_cleaning_up_is_not_cut_short():
    with Interrupts() as interrupts:
        with pytest.raises(Interrupted):
            press_ctrl_c()
        press_ctrl_c()
        assert interrupts.requested
    with Interrupts() as interrupts:
        interrupts.shield()
        press_ctrl_c()
        assert not interrupts.requested


def test_afterwards_signals_are_python_s_own_again():
    with Interrupts():
        pass
    with pytest.raises(KeyboardInterrupt):
        press_ctrl_c()
