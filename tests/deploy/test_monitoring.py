"""Alerts and dashboard speak of metrics that there are, and every alert is explained."""

import json
import re
from pathlib import Path

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from cosched.core.scheduling.starts import Starts
from cosched.service.metrics import Metrics

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
RULES = DEPLOY / "prometheus" / "cosched.rules.yaml"
DASHBOARD = DEPLOY / "grafana" / "cosched.json"
SCRAPED = {"domain", "instance", "job"}  # labels that Prometheus adds, by scrape.example.yaml
OTHERS = {"up"}  # metrics that are Prometheus' own
_METRIC = re.compile(r"\b((?:cosched|process)_\w+|up\b)(?:\{([^}]*)\})?")
_GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right) \(([^)]*)\)")


@pytest.fixture(scope="module")
def series() -> dict[str, set[str]]:
    """The labels of each series that a service has."""
    metrics = Metrics("1")
    metrics.peer_up("eureka").set(1)
    metrics.peer_refused("eureka").set(0)
    metrics.peer_clock_offset("eureka").set(0.001)
    metrics.peer_clock_uncertainty("eureka").set(0.001)
    metrics.peer_call("eureka", "StartJob", "answered", 0.1)
    metrics.request("StartJob", "OK", 0.1)
    metrics.denied("NOT_OWNER").inc()
    metrics.account_held("climate").set(1)
    metrics.account_budget("climate").set(2)
    metrics.slots_dropped("not_claimed").inc()
    metrics.certificate_expiry("a.pem").set(1)
    metrics.owners_starts.read = lambda: {"ann": Starts(2, 1, 30)}
    found: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(metrics.text().decode()):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


def rules() -> list[dict[str, object]]:
    (group,) = yaml.load(RULES.read_text(), yaml.BaseLoader)["groups"]
    return group["rules"]


def panels() -> list[dict[str, object]]:
    return json.loads(DASHBOARD.read_text())["panels"]


def expressions() -> list[str]:
    alerts = [str(rule["expr"]) for rule in rules()]
    return alerts + [target["expr"] for panel in panels() for target in panel["targets"]]


@pytest.mark.parametrize("expression", expressions())
def test_every_metric_and_label_exists(expression, series):
    used = _METRIC.findall(expression)
    assert used
    labels = set(SCRAPED)
    for name, selector in used:
        assert name in series or name in OTHERS
        labels |= series.get(name, set())
        selected = set(re.findall(r"(\w+)(?:=~|!~|!=|=)\"", selector))
        assert selected <= series.get(name, set()) | SCRAPED
    for grouping in _GROUPING.findall(expression):
        assert {label.strip() for label in grouping.split(",")} <= labels
    assert expression.count("(") == expression.count(")")


def test_series_that_are_ours_are_all_looked_at(series):
    ours = {re.sub(r"_(bucket|count|sum|total|info)$", "", name) for name in series if name.startswith("cosched_")}
    looked_at = {
        re.sub(r"_(bucket|count|sum|total|info)$", "", name)
        for expression in expressions()
        for name, _ in _METRIC.findall(expression)
    }
    assert ours <= looked_at


def test_every_alert_is_complete_and_has_its_paragraph():
    operating = (DEPLOY.parent / "docs" / "operating.md").read_text()
    names = [str(rule["alert"]) for rule in rules()]
    assert len(names) == len(set(names)) >= 8
    for rule in rules():
        assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
        assert rule["labels"]["severity"] in ("critical", "warning", "info")
        assert rule["annotations"]["summary"]
        assert re.fullmatch(r"\d+[smh]", str(rule.get("for", "0s")))
        assert f"\n**{rule['alert']}**: " in operating


def test_alerts_that_are_explained_exist():
    text = (DEPLOY.parent / "docs" / "operating.md").read_text()
    section = text.partition("\n## Alerts\n")[2].partition("\n## ")[0]
    explained = re.findall(r"^\*\*(\w+)\*\*:", section, re.MULTILINE)
    assert sorted(explained) == sorted(str(rule["alert"]) for rule in rules())


def test_the_dashboard_s_panels_do_not_overlap_and_have_their_own_ids():
    places = set()
    for panel in panels():
        grid = panel["gridPos"]
        cells = {
            (x, y) for x in range(grid["x"], grid["x"] + grid["w"]) for y in range(grid["y"], grid["y"] + grid["h"])
        }
        assert grid["x"] + grid["w"] <= 24
        assert not cells & places
        places |= cells
        assert panel["title"]
        assert panel["description"]
    assert len({panel["id"] for panel in panels()}) == len(panels())


def test_the_example_of_scraping_names_the_rules_and_labels_the_domains():
    example = yaml.load((DEPLOY / "prometheus" / "scrape.example.yaml").read_text(), yaml.BaseLoader)
    assert example["rule_files"] == [RULES.name]
    (job,) = example["scrape_configs"]
    assert job["job_name"] == "cosched"
    assert all(target["labels"]["domain"] for target in job["static_configs"])
