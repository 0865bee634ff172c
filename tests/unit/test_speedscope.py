"""speedscope's JSON: nothing lost on the way."""

import json

from mysqlprof.formats.speedscope import to_speedscope
from mysqlprof.stacks import FoldedStacks


def test_stacks_and_counts_come_back() -> None:
    stacks = FoldedStacks.parse(["main;work 70", "main;rest_[k] 30", "main 2"])
    document = json.loads(to_speedscope(stacks, "a cell", "mysqlprof"))
    names = [frame["name"] for frame in document["shared"]["frames"]]
    (profile,) = document["profiles"]
    back = {
        tuple(names[i] for i in sample): weight
        for sample, weight in zip(profile["samples"], profile["weights"], strict=True)
    }
    assert FoldedStacks(back) == stacks
    assert profile["endValue"] == 102
    assert profile["unit"] == "none"


def test_hostile_names_stay_text() -> None:
    stacks = FoldedStacks.parse(['</script><script>"\\ 1'])
    document = json.loads(to_speedscope(stacks, "\u2028", "x"))
    assert document["shared"]["frames"] == [{"name": '</script><script>"\\'}]
