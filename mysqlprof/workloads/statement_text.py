"""The text of a prepared statement, as a log shows it: its size, and what rebuilding it costs."""

from datetime import datetime
from decimal import Decimal
from typing import Any

from mysqlprof.workloads.tasks import Statement, Value

MAX_PLACEHOLDERS = 65_535
"""Width of the parameter count in the protocol's reply to COM_STMT_PREPARE."""


def as_text(value: Value) -> str:
    return value.isoformat(" ") if isinstance(value, datetime) else str(value)


def rendered_bytes(statement: Statement) -> int:
    """Bytes of the statement's text with every `?` replaced by its value, as a log shows it."""
    values = sum(
        len(as_text(value)) + (0 if isinstance(value, int | Decimal) else 2)
        for row in statement.rows
        for value in row
    )
    marks = len(statement.rows) * len(statement.kinds)
    return len(statement.sql) - marks + values


def text_facts(statement: Statement) -> dict[str, Any]:
    """Sizes for the report, and the closed form's prediction.

    Each parameter is put in the place of its mark, and the text grows, unless the value is as
    long as the mark: one byte. Growing the text once for each of n parameters, with u bytes of
    template and v bytes of rendered value for each, copies n^2 * (u + (v - 1) / 2) bytes.
    """
    n = len(statement.rows) * len(statement.kinds)
    text = rendered_bytes(statement)
    template = len(statement.sql)
    u, v = template / n, (text - template + n) / n
    return {
        "parameters": n,
        "template_bytes": template,
        "statement_text_bytes": text,
        "mean_rendered_value_bytes": round(v, 2),
        "predicted_replaces": n,
        "predicted_growths": n - _one_byte_values(statement),
        "predicted_growth_copy_bytes": round(n * n * (u + (v - 1) / 2)),
    }


def _one_byte_values(statement: Statement) -> int:
    return sum(isinstance(v, int) and 0 <= v <= 9 for v in statement.parameters)
