"""Captured executes in claims and reports."""

import pytest
from report_factory import NORMAL, SLOW, make_run
from wire_factory import Talk

from mysqlprof.attribution import load_rules
from mysqlprof.errors import UsageError
from mysqlprof.model import ClaimResult
from mysqlprof.report import render_html, render_markdown
from mysqlprof.report.wire_words import slowest_phase
from mysqlprof.scenario import cells, load
from mysqlprof.verdict import Measured, judge_run
from mysqlprof.wire.decode import decode
from mysqlprof.wire.model import WireCommand

PREPARED = (b"\0\x05\0\0\0\0\0\x01\0\0\0\0", b"parameter", b"\xfe\0\0\x02\0")
DONE = b"\0\x03\0\x02\0\0\0"


def execute(cell: str, wait: float, prepare: float = 0.001) -> list[WireCommand]:
    talk = Talk().logged_in().asks(b"\x16INSERT <b>?</b> | ?", *PREPARED, wait=prepare)
    talk.asks(b"\x17\x05\0\0\0" + b"v" * 900, DONE, wait=wait).asks(b"\x19\x05\0\0\0")
    wire = decode(memoryview(talk.capture()), frozenset(), [])
    return [command.model_copy(update={"cell": cell}) for command in wire.commands]


def claim(wire: list[WireCommand] | None) -> ClaimResult | None:
    scenario = load("bug-73056")
    judged = judge_run(Measured(scenario, cells(scenario), [], wire=wire), load_rules())
    return next((c for c in judged.claims if c.id == "execute_is_the_slow_phase"), None)


@pytest.mark.parametrize(
    ("wait", "prepare", "verdict"), [(0.9, 0.01, "holds"), (0.1, 0.5, "does_not_hold")]
)
def test_the_slow_phase_is_a_claim(wait: float, prepare: float, verdict: str) -> None:
    found = claim(execute(SLOW, wait, prepare))
    assert found is not None
    assert found.verdict == verdict
    share = 100 * wait / (wait + prepare)
    assert float(found.measured.split()[0]) == pytest.approx(share, abs=0.5)


def test_without_a_capture_the_claim_cannot_be_told_and_unasked_it_is_not_made() -> None:
    found = claim(execute(NORMAL, 0.1))
    assert found is not None
    assert (found.verdict, found.reason) == ("cannot_tell", "the cell was not captured")
    assert claim(None) is None


def test_a_claim_about_no_protocol_command_is_refused(tmp_path) -> None:
    from importlib.resources import files

    text = (files("mysqlprof.scenarios") / "bug-73056.toml").read_text(encoding="utf-8")
    path = tmp_path / "own.toml"
    path.write_text(text.replace('wire = "COM_STMT_EXECUTE"', 'wire = "COM_EXECUTE"'))
    with pytest.raises(UsageError, match="no protocol command 'COM_EXECUTE'"):
        load(str(path))


def test_both_reports_show_the_wire(tmp_path) -> None:
    run_dir = make_run(tmp_path / "run")
    rows = execute(SLOW, 0.9) + execute(NORMAL, 0.02)
    run_dir.write_wire(rows)
    assert run_dir.read_wire() == rows
    html, text = render_html(run_dir), render_markdown(run_dir)
    for report in (html, text):
        assert "On the wire" in report
        assert "until the first response byte" in report
        assert "the server was working, not the network" in report
    assert 'class="chart chart-wire"' in html
    assert "<b>?</b>" not in html
    assert html == render_html(run_dir), "the same bytes each time"


def test_runs_without_a_capture_have_no_such_section(tmp_path) -> None:
    run_dir = make_run(tmp_path / "run")
    assert "On the wire" not in render_html(run_dir)
    assert "On the wire" not in render_markdown(run_dir)


def test_the_network_is_blamed_where_it_took_the_time() -> None:
    ping = execute(SLOW, 0.9)[2].model_copy(update={"sent_ms": 0.0, "last_ms": None})

    def said(first_ms: float, rtt_ms: float | None, retransmitted: int = 0) -> str:
        changes = {"first_ms": first_ms, "last_ms": first_ms, "rtt_ms": rtt_ms}
        return slowest_phase([ping.model_copy(update=changes | {"retransmitted": retransmitted})])

    assert "the server was working, not the network" in said(900, 0.05)
    assert "about what the network takes" in said(50, 45)
    assert "the server and the network" in said(200, 45)
    assert "no TCP handshake was captured" in said(900, None)
    assert "sent again" in said(900, 0.05, 1)
