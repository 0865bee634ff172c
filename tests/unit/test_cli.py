"""The verbs as a user types them: words, exit codes, no tracebacks."""

import json
import subprocess
import sys

import pytest
from report_factory import make_run

from mysqlprof.cli.exit_codes import exit_code
from mysqlprof.model import Caveat
from mysqlprof.terminal import plain


def run(*arguments: str, **kwargs: object) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-m", "mysqlprof", *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        **kwargs,
    )
    assert "Traceback" not in done.stderr + done.stdout
    return done


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("reproduce", "bug-1"), "bug-73056"),
        (("reproduce", "bug-73056", "--before", "5.5.1"), "5.7.38"),
        (("reproduce", "bug-73056", "--rows", "3000"), "--rows 2730"),
        (("reproduce", "bug-73056", "--value-bytes", "9000"), "--value-bytes"),
        (("reproduce", "bug-73056", "--columns", "2000", "--rows", "1"), "--columns 1017"),
        (("reproduce", "bug-73056", "--backend", "cloud"), "docker"),
        (("reproduce", "bug-73056", "--call-graph", "lbr9"), "dwarf"),
        (("reproduce", "bug-73056", "--memory", "lots"), "2G"),
        (("reproduce", "bug-73056", "--image", "control="), "before=REF"),
        (("reproduce", "bug-73056", "--driver-version", "1.0", "--backend", "local"), "8.0.33"),
        (("triggers", "bug-1"), "bug-73056"),
        (("scale", "bug-73056", "--before", "5.5.1"), "5.7.38"),
        (("remedies", "bug-73056", "--rows", "30", "--backend", "local"), "divide"),
        (("reproduce", "bug-73056", "--after", "8.4.3", "--backend", "local"), "MySQL 8.4"),
        (("servers", "fetch", "4.1"), "8.0.32"),
        (("report", "nowhere"), "run.json"),
        (("nonsense",), "No such command"),
    ],
)
def test_a_usage_error_is_a_sentence_and_exit_code_2(arguments, words, tmp_path):
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stdout == ""
    assert list(tmp_path.iterdir()) == [], "nothing was made"


def test_an_existing_run_directory_is_refused_before_anything_starts(tmp_path):
    make_run(tmp_path / "run")
    done = run("reproduce", "bug-73056", "--backend", "local", "--out", str(tmp_path / "run"))
    assert done.returncode == 2
    assert "--force" in done.stderr


def test_a_broken_run_is_a_sentence(tmp_path):
    run_dir = make_run(tmp_path / "run")
    (run_dir.path / "run.json").write_text("{")
    done = run("report", str(run_dir.path))
    assert done.returncode == 2
    assert "cannot be read" in done.stderr


def test_report_redraws_a_stored_run_without_any_other_program(tmp_path):
    run_dir = make_run(tmp_path / "run")
    done = run("report", str(run_dir.path), env={"PATH": "", "HOME": str(tmp_path)})
    assert done.returncode == 0
    assert "report.html" in done.stdout
    assert (run_dir.path / "report.html").stat().st_size > 10_000
    assert (run_dir.path / "report.md").read_text().startswith("#")


def test_lists_are_data_on_stdout_and_json_on_request():
    assert "bug-73056" in run("scenarios").stdout
    versions = [row["version"] for row in json.loads(run("servers", "list", "--json").stdout)]
    assert "5.7.38" in versions
    names = [row["name"] for row in json.loads(run("scenarios", "--json").stdout)]
    assert {"bug-73056", "bandwidth"} <= set(names)


def test_doctor_answers_in_json_with_a_command_for_every_no():
    done = run("doctor", "--json")
    answer = json.loads(done.stdout)
    assert done.returncode == (0 if answer["can_run"] else 3)
    assert all(row["mend"] for row in answer["checks"] if row["ok"] is False)


def test_without_a_jdk_the_run_does_not_start_and_says_what_to_install(tmp_path):
    environment = {"PATH": "/nowhere", "HOME": str(tmp_path), "MYSQLPROF_CACHE": str(tmp_path)}
    done = run(
        "reproduce",
        "bug-73056",
        "--backend",
        "local",
        "--no-profile",
        cwd=tmp_path,
        env=environment,
    )
    assert done.returncode == 3
    assert "default-jdk-headless" in done.stderr
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, 0),
        ({"verdict": "not_reproduced"}, 5),
        ({"verdict": "inconclusive"}, 5),
        ({"verdict": "measured"}, 0),
        ({"caveats": [Caveat(kind="noise", text="t")]}, 0),
        ({"caveats": [Caveat(kind="few_samples", text="t", partial=True)]}, 4),
        ({"status": "failed"}, 6),
        ({"status": "interrupted"}, 130),
    ],
)
def test_the_exit_code_tells_how_the_run_ended(tmp_path, changes, code):
    stored = make_run(tmp_path / "run").read_run()
    clean = stored.model_copy(update={"caveats": [], "verdict": "reproduced", "status": "complete"})
    assert exit_code(clean.model_copy(update=changes)) == code


def test_characters_that_command_a_terminal_are_not_passed_on():
    assert plain("a\x1b[2Jb\u202ec") == "a\ufffd[2Jb\ufffdc"
