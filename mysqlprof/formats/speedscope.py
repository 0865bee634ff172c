"""speedscope's file format: a profile as sampled stacks with weights.

https://www.speedscope.app/file-format-schema.json describes it; the npm package `speedscope`
ships the same schema.
"""

import json

from mysqlprof.stacks import FoldedStacks

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def to_speedscope(stacks: FoldedStacks, name: str, exporter: str) -> str:
    """One JSON document. Weights are samples: the unit is "none", and times are not made up."""
    frames: dict[str, int] = {}
    samples, weights = [], []
    for stack, count in sorted(stacks.items()):
        samples.append([frames.setdefault(frame, len(frames)) for frame in stack])
        weights.append(count)
    profile = {
        "type": "sampled",
        "name": name,
        "unit": "none",
        "startValue": 0,
        "endValue": stacks.total,
        "samples": samples,
        "weights": weights,
    }
    document = {
        "$schema": _SCHEMA,
        "exporter": exporter,
        "name": name,
        "activeProfileIndex": 0,
        "shared": {"frames": [{"name": frame} for frame in frames]},
        "profiles": [profile],
    }
    return json.dumps(document, separators=(",", ":")) + "\n"
