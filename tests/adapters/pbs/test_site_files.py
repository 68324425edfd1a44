"""The files for sites agree with each other and with the code, and their configuration passes the check."""

import json
import re
import subprocess
import tomllib
from dataclasses import fields
from pathlib import Path

from cosched_adapters.own.settings import GateSettings
from cosched_adapters.pbs.doctor import EVENTS, RESOURCES
from cosched_adapters.pbs.settings import PbsSettings
from cosched_adapters.setting_checks import QueueSettings
from deploy.lab.service import cosched
from tests.adapters.pbs.hook_events import Hook, Job

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "deploy" / "pbs"
EXAMPLE, PAGE, USERS = FOLDER / "mira.toml", FOLDER / "README.md", ROOT / "docs" / "pbs.md"
CONFIGURATION = FOLDER / "hooks" / "cosched.json"


def run(*command: object) -> str:
    argv = [str(part) for part in command]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_example_passes_the_check(tmp_path):
    authority = tmp_path / "authority"
    run(cosched(), "certs", "init", authority, "--site", "example")
    run(cosched(), "certs", "issue", authority, "mira", "--host", "mira.example.org")
    text = EXAMPLE.read_text()
    for there, here in {"/etc/cosched/tls": authority, "/var/lib/cosched": tmp_path, "/run/cosched": tmp_path}.items():
        assert there in text
        text = text.replace(there, str(here))
    copy = tmp_path / "mira.toml"
    copy.write_text(text)
    said = run(cosched(), "serve", "--config", copy, "--check")
    assert re.search(r"manager +pbs", said)
    assert "warning" not in said


def test_the_example_names_every_setting_with_its_default():
    text = EXAMPLE.read_text().partition("\n[manager]\n")[2]
    manager = tomllib.loads(re.sub(r"^# (?=\w+ = )", "", text, flags=re.MULTILINE))
    own = {field.name for field in fields(GateSettings)} - {field.name for field in fields(QueueSettings)}
    known = {field.name: field.default for field in fields(PbsSettings) if field.name not in own}
    assert manager.keys() == {"kind", *known}
    for key in manager.keys() - {"kind", "bin", "hook_socket"}:
        assert manager[key] == known[key]


def test_service_and_hook_agree():
    service, hook = tomllib.loads(EXAMPLE.read_text()), json.loads(CONFIGURATION.read_text())
    assert hook["socket"] == service["manager"]["hook_socket"]
    assert hook["domain"] == service["domain"]["name"]
    assert hook["peers"] == [peer["name"] for peer in service["peer"]]
    assert f"({hook['patience']})" in PAGE.read_text()


def test_the_page_creates_what_the_doctor_looks_for():
    text = PAGE.read_text()
    for name, kind in RESOURCES.items():
        assert f'qmgr -c "create resource {name} type={kind}"' in text
    assert set(re.findall(r'event="(.*?)"', text)[0].split(",")) == set(EVENTS)


def test_users_are_told_what_their_page_quotes(tmp_path, monkeypatch):
    hook = Hook(tmp_path, monkeypatch, **json.loads(CONFIGURATION.read_text()))
    rows = re.findall(r"^\| `(.*)` (?:on mira )?\| `(.*)` \|$", USERS.read_text(), re.MULTILINE)
    assert len(rows) == 13
    for written, answer in rows:
        given = dict(re.findall(r"(?:-l )(\w+)=(\S*)", written))
        kinds = {"-J 1-3": "array_indices_submitted", "-I": "interactive", "-W depend=afterok:3": "depend"}
        attributes = {name: word for word, name in kinds.items() if word in written}
        queue = {"queue": "R9"} if "-q R9" in written else {}
        assert hook.run("QUEUEJOB", Job(given, **attributes, **queue)) == answer
