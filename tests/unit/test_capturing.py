"""A wire that cannot be captured: a caveat, and the rest of the run goes on."""

import pytest
from wire_factory import plain_talk

from mysqlprof import capturing
from mysqlprof.capturing import Captures, Subject, captured_cells
from mysqlprof.errors import EnvironmentLacks, PartialData
from mysqlprof.model import Endpoint
from mysqlprof.scenario import load, plan
from mysqlprof.store import RunDirectory
from mysqlprof.wire.decode import decode

PLAN = plan(load("bug-73056"), seed=1)
SLOW, NORMAL = PLAN.cells[7], PLAN.cells[5]


def subject(cell=SLOW) -> Subject:
    def execute(*_: object) -> None:
        raise AssertionError("nothing is executed in these tests")

    return Subject(cell.id, Endpoint("127.0.0.1", 3306, "me", ""), execute)


@pytest.fixture
def captures(tmp_path) -> Captures:
    return Captures(RunDirectory.create(tmp_path / "run", force=False))


def test_the_pictured_pair_is_among_the_chosen_cells():
    chosen = [cell.id for cell in captured_cells(PLAN)]
    assert "before_fixed_log-on_prepare-on" in chosen
    assert "before_fixed_log-off_prepare-on" in chosen
    assert "after_default_log-on_prepare-on" in chosen


def test_a_scenario_without_a_claim_about_the_wire_captures_nothing():
    assert captured_cells(plan(load("oltp_point_select"), seed=1)) == []


def test_what_the_host_lacks_is_said_once(captures, monkeypatch):
    def refuse(_: Subject) -> None:
        raise EnvironmentLacks("tcpdump may not capture", "sudo setcap")

    monkeypatch.setattr(capturing, "capture_trial", refuse)
    (caveat,) = captures.add(subject())
    assert (caveat.kind, caveat.partial) == ("wire", True)
    assert caveat.text == "the wire was not captured: tcpdump may not capture; try: sudo setcap"
    assert captures.add(subject(NORMAL)) == []
    assert len(captures.missing(PLAN)) == len(captured_cells(PLAN))


def test_what_one_cell_lacks_is_said_of_that_cell(captures, monkeypatch):
    def fail(_: Subject) -> None:
        raise PartialData("tcpdump was killed")

    monkeypatch.setattr(capturing, "capture_trial", fail)
    texts = [captures.add(subject(cell))[0].text for cell in (SLOW, NORMAL)]
    assert texts == [f"{cell.id}: tcpdump was killed" for cell in (SLOW, NORMAL)]


def test_rows_are_on_disk_after_each_cell_and_drops_are_told(captures, monkeypatch, tmp_path):
    wire = decode(memoryview(plain_talk().capture()), frozenset(), [])
    monkeypatch.setattr(capturing, "capture_trial", lambda _: (wire, 3))
    (caveat,) = captures.add(subject())
    assert caveat.text == f"{SLOW.id}: the kernel dropped 3 packets of the capture"
    rows = RunDirectory(tmp_path / "run").read_wire()
    assert [(row.cell, row.command) for row in rows] == [
        (SLOW.id, c.command) for c in wire.commands
    ]
    assert f"{SLOW.id}: capture of the wire" not in captures.missing(PLAN)
