"""Free-form facts (environment, workload, thresholds) as label and value."""

import json
from typing import Any

from mysqlprof.report import numbers

_ACRONYMS = {"cpu": "CPU", "cpus": "CPUs", "os": "OS", "id": "ID", "jvm": "JVM", "vm": "VM"}
_UNITS = {"_ms": "ms", "_s": "s", "_hz": "Hz", "_mhz": "MHz", "_percent": "%"}


def fact_name(key: str) -> str:
    """`cpu_model` -> CPU model; a unit at the end moves to the value."""
    for unit in (*_UNITS, "_bytes"):
        if key.endswith(unit) and key != unit:
            key = key.removesuffix(unit) + (" size" if unit == "_bytes" else "")
            break
    words = [_ACRONYMS.get(word, word) for word in key.replace("_", " ").split(" ")]
    return " ".join(words)


def fact_value(value: Any, key: str = "") -> str:
    if value is None or value == "":
        return numbers.NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _number(value, key)
    if isinstance(value, list | tuple) and all(not isinstance(v, dict | list) for v in value):
        return ", ".join(fact_value(item) for item in value)
    if isinstance(value, dict) and all(not isinstance(v, dict | list) for v in value.values()):
        return "; ".join(f"{name} {fact_value(v, name)}" for name, v in value.items())
    if isinstance(value, dict | list | tuple):
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    return str(value)


def _number(value: float, key: str) -> str:
    if key.endswith("_bytes") and abs(value) >= 1024:
        return numbers.size(value)
    whole = isinstance(value, int) or (value.is_integer() and abs(value) < 1e15)
    text = numbers.count(int(value)) if whole else f"{value:.4g}"
    unit = next((u for suffix, u in _UNITS.items() if key.endswith(suffix)), "")
    if key.endswith("_bytes"):
        unit = "B"
    return f"{text}{numbers.THIN}{unit}" if unit else text
