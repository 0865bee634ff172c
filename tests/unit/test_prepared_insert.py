"""Columns, values, limits and predictions of the prepared insert."""

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mysqlprof.errors import UsageError
from mysqlprof.workload_spec import PreparedInsertSpec
from mysqlprof.workloads.prepared_insert import make
from mysqlprof.workloads.statement_text import MAX_PLACEHOLDERS, rendered_bytes

PACKET = 64 * 2**20


def spec(rows: int = 500, columns: int = 24, value_bytes: int = 128) -> PreparedInsertSpec:
    return PreparedInsertSpec(
        kind="prepared-insert", rows=rows, columns=columns, value_bytes=value_bytes
    )


def test_the_article_s_batch_has_12000_parameters():
    work = make(spec(), 1, PACKET)
    assert work.facts()["parameters"] == 12_000
    assert work.statement.sql.count("?") == 12_000
    assert len(work.statement.parameters) == 12_000
    assert work.facts()["predicted_replaces"] == 12_000


def test_columns_are_typed_as_a_business_table_has_them():
    kinds = {column.kind for column in make(spec(), 1, PACKET).columns}
    assert kinds == {"long", "text", "decimal", "datetime", "date"}


def test_the_same_seed_gives_the_same_values_and_another_seed_others():
    assert make(spec(5), 1, PACKET).arrival == make(spec(5), 1, PACKET).arrival
    assert make(spec(5), 1, PACKET).arrival != make(spec(5), 2, PACKET).arrival


def test_the_checksum_is_the_sum_of_the_rows_crc32_as_mysql_renders_them():
    work = make(spec(rows=1, columns=4, value_bytes=3), 3, PACKET)
    number, text, amount, moment = work.statement.rows[0]
    line = f"{number}|{text}|{amount}|{moment:%Y-%m-%d %H:%M:%S}"
    assert work.arrival.expected == {"rows": 1, "checksum": zlib.crc32(line.encode())}


@given(rows=st.integers(1, 40), columns=st.integers(1, 40), value_bytes=st.integers(1, 200))
def test_rendered_bytes_count_the_text_that_a_log_would_hold(rows, columns, value_bytes):
    statement = make(spec(rows, columns, value_bytes), 1, PACKET).statement
    text = statement.sql
    for value in statement.parameters:
        quoted = str(value) if not hasattr(value, "year") and not isinstance(value, str) else None
        text = text.replace("?", quoted or f"'{value}'", 1)
    assert rendered_bytes(statement) == len(text)


def test_text_values_have_the_size_that_was_asked_for():
    work = make(spec(rows=3, columns=12, value_bytes=77), 1, PACKET)
    sizes = {len(value) for value in work.statement.parameters if isinstance(value, str)}
    assert sizes == {77}


def test_the_closed_form_equals_the_sum_over_all_replaces():
    work = make(spec(rows=20, columns=12), 1, PACKET)
    facts = work.facts()
    n = facts["parameters"]
    growth = (facts["statement_text_bytes"] - facts["template_bytes"]) / n
    copied = sum(facts["template_bytes"] + k * growth for k in range(n))
    assert facts["predicted_growth_copy_bytes"] == pytest.approx(copied, rel=0.01)


@pytest.mark.parametrize(("rows", "fits"), [(2730, True), (2731, False), (3000, False)])
def test_placeholders_beyond_the_protocol_are_refused_with_the_largest_that_fits(rows, fits):
    if fits:
        assert make(spec(rows, value_bytes=4), 1, PACKET).facts()["parameters"] <= MAX_PLACEHOLDERS
        return
    with pytest.raises(UsageError) as caught:
        make(spec(rows, value_bytes=4), 1, PACKET)
    assert "--rows 2730" in caught.value.hint


def test_the_largest_value_size_that_is_named_for_a_row_does_fit():
    with pytest.raises(UsageError) as caught:
        make(spec(rows=1, value_bytes=5000), 1, PACKET)
    largest = int(caught.value.hint.split()[1])
    make(spec(rows=1, value_bytes=largest), 1, PACKET)
    with pytest.raises(UsageError):
        make(spec(rows=1, value_bytes=largest + 1), 1, PACKET)


def test_the_largest_row_count_that_is_named_for_a_packet_does_fit():
    with pytest.raises(UsageError) as caught:
        make(spec(rows=2000, value_bytes=1000), 1, 2**20)
    largest = int(caught.value.hint.split()[1])
    make(spec(rows=largest, value_bytes=1000), 1, 2**20)


def test_more_columns_than_innodb_has_are_refused():
    with pytest.raises(UsageError, match="1017"):
        make(spec(rows=2, columns=1018, value_bytes=1), 1, PACKET)


@pytest.mark.parametrize(("on_server", "found", "word"), [(True, 0, "0"), (False, 1, "1")])
def test_an_execute_that_was_prepared_on_the_other_side_is_told(on_server, found, word):
    work, options = make(spec(1), 1, PACKET), {"server_prepare": on_server}
    assert work.disagreement(options, {"Com_stmt_execute": int(on_server)}, {}) == ""
    assert f"counted {word} COM_STMT_EXECUTE" in work.disagreement(
        options, {"Com_stmt_execute": found}, {}
    )


def test_rows_that_did_not_arrive_are_told_with_both_counts():
    arrival = make(spec(rows=2), 1, PACKET).arrival
    checksum = arrival.expected["checksum"]
    assert arrival.failure((2, str(checksum))) == ""
    assert arrival.failure((1, checksum)) == (
        f"rows 1 and checksum {checksum} arrived, expected rows 2 and checksum {checksum}"
    )
