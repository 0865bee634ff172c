"""Two servers' variables, set against each other and sorted by whose doing the change is."""

from mysqlprof.upgrade.configuration import changes, knowledge


def kinds(before, after, ours=()):
    return {change.name: change.kind for change in changes(before, after, ours)}


def test_what_is_equal_is_no_change():
    assert changes({"a": "1", "b": ""}, {"a": "1", "b": ""}, ()) == []


def test_whose_doing_a_difference_is():
    before = {"log_bin": "OFF", "sort_buffer_size": "1", "query_cache_size": "9", "port": "3306"}
    after = {"log_bin": "ON", "sort_buffer_size": "2", "temptable_max_ram": "1G", "port": "3307"}
    assert kinds(before, after, {"sort_buffer_size"}) == {
        "log_bin": "default_changed",
        "sort_buffer_size": "set_by_us",
        "query_cache_size": "removed",
        "temptable_max_ram": "added",
        "port": "of_the_instance",
    }


def test_every_version_variable_is_of_the_instance():
    assert set(kinds({"version": "5", "version_comment": "x"}, {"version": "8"}).values()) == {
        "of_the_instance"
    }


def test_an_empty_value_is_not_a_missing_variable():
    (change,) = changes({"innodb_flush_method": ""}, {"innodb_flush_method": "fsync"}, ())
    assert (change.before, change.after, change.kind) == ("", "fsync", "default_changed")


def test_lists_are_compared_member_by_member():
    found = changes(
        {"optimizer_switch": "mrr=on,skip_scan=off", "sql_mode": "STRICT,NO_AUTO_CREATE_USER"},
        {"optimizer_switch": "skip_scan=on,mrr=on,hash_join=on", "sql_mode": "STRICT"},
        (),
    )
    assert [(c.name, c.before, c.after, c.kind) for c in found] == [
        ("optimizer_switch:skip_scan", "off", "on", "default_changed"),
        ("sql_mode:NO_AUTO_CREATE_USER", "set", None, "removed"),
        ("optimizer_switch:hash_join", None, "on", "added"),
    ]
    assert all(change.matters for change in found)


def test_members_in_another_order_are_no_change():
    assert changes({"sql_mode": "A,B"}, {"sql_mode": "B,A"}, ()) == []


def test_a_list_that_we_set_is_of_our_making_and_one_that_is_gone_is_one_change():
    assert kinds({"sql_mode": "A"}, {"sql_mode": ""}, {"sql_mode"}) == {"sql_mode:A": "set_by_us"}
    assert kinds({"sql_mode": "A,B"}, {}) == {"sql_mode": "removed"}


def test_what_matters_comes_first_within_each_kind_in_the_order_of_the_data():
    weighty = list(knowledge().matters)[:3]
    names = ["zzz", "aaa", *reversed(weighty)]
    found = changes(dict.fromkeys(names, "1"), dict.fromkeys(names, "2"), ())
    assert [change.name for change in found] == [*weighty, "aaa", "zzz"]
    order = [c.kind for c in changes({"z": "1", "gone": "1", "port": "1"},
                                     {"z": "2", "new": "1", "port": "2"}, ())]  # fmt: skip
    assert order == ["default_changed", "removed", "added", "of_the_instance"]


def test_the_data_names_nothing_twice():
    known = knowledge()
    assert len(known.of_the_instance) == len(set(known.of_the_instance))
    assert not set(known.of_the_instance) & set(known.matters)
    assert all(text.endswith(".") for text in known.matters.values())
