"""The IN list: its text, what must come back, what MySQL's limits forbid."""

import zlib

import pytest

from mysqlprof.drivers.registry import check_driver
from mysqlprof.errors import UsageError
from mysqlprof.workload_spec import InListSpec
from mysqlprof.workloads import make

PACKET = 64 * 2**20


def workload(packet: int = PACKET, **sizes: int):
    given = {"parameters": 40, "table_rows": 10, **sizes}
    return make(InListSpec(kind="in-list", **given), 7, packet)


def metrics(rows: float, checksum: float) -> dict[str, float]:
    return {"answer_rows": rows, "answer_checksum": checksum}


def test_half_of_the_rows_are_asked_for_and_the_answer_is_known():
    made = workload()
    asked = made.task(0).parameters
    assert len(asked) == len(set(asked)) == 40
    found = [(number, code) for number, code in enumerate(made.codes, 1) if code in asked]
    assert len(found) == 5
    checksum = sum(zlib.crc32(f"{number}|{code}".encode()) for number, code in found)
    executed = {"Com_stmt_execute": 1}
    on_server = {"server_prepare": True}
    assert made.disagreement(on_server, executed, metrics(5, checksum)) == ""
    assert "expected rows 5" in made.disagreement(on_server, executed, metrics(4, checksum))
    assert "checksum" in made.disagreement(on_server, executed, metrics(5, checksum + 1))


def test_who_prepared_is_asked_of_the_server_unless_it_is_left_to_the_driver():
    made = workload()
    right = {f"answer_{name}": float(value) for name, value in made._answer.expected.items()}
    assert "expected 1" in made.disagreement(
        {"server_prepare": True}, {"Com_stmt_execute": 0}, right
    )
    assert "expected 0" in made.disagreement({}, {"Com_stmt_execute": 1}, right)
    for count in (0, 1):
        left = {"server_prepare": "default"}
        assert made.disagreement(left, {"Com_stmt_execute": count}, right) == ""


def test_padding_lengthens_the_text_and_what_is_copied_and_nothing_else():
    compact, padded = workload(), workload(padding=14)
    assert compact.codes == padded.codes
    assert compact.task(0).rows == padded.task(0).rows
    assert padded.task(0).sql.replace(" " * 14, "") == compact.task(0).sql
    assert len(padded.task(0).sql) - len(compact.task(0).sql) == 39 * 14
    facts = compact.facts(), padded.facts()
    # n * n * 14 more, but for the last parameter, which has no comma.
    copied = [fact["predicted_growth_copy_bytes"] for fact in facts]
    assert copied[1] - copied[0] == 40 * 39 * 14
    assert facts[0]["mean_rendered_value_bytes"] == 10


@pytest.mark.parametrize(
    ("sizes", "words"),
    [
        ({"parameters": 65_536}, "65,536 placeholders"),
        ({"parameters": 4}, "half of 10 rows"),
        ({"parameters": 1000, "packet": 5000}, "max_allowed_packet"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_is_started(sizes, words):
    with pytest.raises(UsageError, match=words):
        workload(**sizes)


def test_only_drivers_that_fetch_rows_are_given_a_query():
    query = workload().task(0)
    check_driver("connector-j:5.1.49", query)
    for name in ("python", "go", "node", "sharding-jdbc", "sysbench"):
        with pytest.raises(UsageError, match=r"cannot run one prepared query|cannot run"):
            check_driver(name, query)
