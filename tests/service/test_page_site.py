"""What the pages of a domain show of a simulated world: its table of jobs, its nodes, its pairs, its history."""

import asyncio
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock

import grpc
import pytest

from cosched.core.job import JobState
from cosched.core.protocol import Terms
from cosched.core.settings import OnMemberRequeued
from cosched.service.page import nodes
from cosched.service.wire.errors import Refusal
from cosched.v1 import cluster_pb2
from tests.service.page_clients import Answer
from tests.service.page_world import HOLD, MEET, PageSide, PageWorld, coupled, filled
from tests.service.world import Faults

MOST = 1_000_000  # bytes of a page
PAGES = ("/", "/jobs", "/jobs?sort=start", "/nodes", "/history", "/jobs/10", "/?past=7d")


async def known(world: PageWorld, **show: str) -> PageSide:
    """The page of a, once it has asked b when the mates start, and the other way round."""
    side = coupled(world, **show)
    for one in (side.sides["b"], side):
        await one.explaining.keep_in_step()
    return side


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageSide]:
    """500 jobs, and 100 pairs."""
    world = filled(tmp_path_factory.mktemp("full"), 500, 100)
    yield asyncio.run(known(world))
    world.close()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageSide]:
    """Forty jobs, and twenty pairs."""
    world = filled(tmp_path_factory.mktemp("small"), 40, 20)
    yield asyncio.run(known(world))
    world.close()


def words(shown: Answer) -> str:
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", shown.text)).split())


def column(shown: Answer, name: str) -> list[str]:
    """The cells of a column of a table."""
    cells = re.findall(rf'cell" class="{name}[^>]*>(.*?)</td>', shown.text)
    return [unescape(re.sub("<[^>]*>", "", cell)) for cell in cells]


def ids(shown: Answer) -> list[int]:
    return [int(id) for id in re.findall(r'class="id"><a href="jobs/(\d+)"', shown.text)]


@pytest.mark.parametrize("page", PAGES)
async def test_pages_of_500_jobs_and_100_pairs_are_small(full: PageSide, page: str) -> None:
    shown = await full.get(page, "op")
    assert (shown.status, len(shown.text.encode()) < MOST) == (200, True)
    assert not re.search(r'(?:src|href|action)="(?:https?:)?//|style=|<script(?! src="[./]*page.js")', shown.text)


async def test_jobs_are_a_table_with_a_row_for_each(full: PageSide) -> None:
    shown = await full.get("/jobs", "op")
    said = words(shown)
    assert "ID Name User Nodes Limit State Mate Place Start Reason" in said
    assert re.search(r"1 holds 1 node 0 ready 0 nodes 6 runs 15 nodes 484 queued", said)
    assert "1 to 100 of 491" in said
    assert len(ids(shown)) == 100
    assert re.search(r" 11 cfd zoe 6 16 min queued 1 in 1\d min it needs 6 nodes, 0 are free ", said)


@pytest.mark.parametrize("key", ["id", "name", "user", "nodes", "state", "mate", "place", "start", "reason"])
async def test_the_header_of_a_column_sorts_by_it_and_then_the_other_way_round(full: PageSide, key: str) -> None:
    orders = []
    for sort, then, aria in ((key, f"-{key}", "ascending"), (f"-{key}", key, "descending")):
        shown = await full.get(f"/jobs?sort={sort}", "op")
        assert f'aria-sort="{aria}"><a href="jobs?sort={then}"' in shown.text
        orders.append(ids(shown))
    assert orders[0] != orders[1]
    cells = [cell for cell in column(await full.get(f"/jobs?sort={key}", "op"), key) if cell]
    if key in ("name", "user"):
        assert cells == sorted(cells)
    if key in ("nodes", "place"):
        assert list(map(int, cells)) == sorted(map(int, cells))
    if key == "id":
        assert orders[0] == sorted(orders[0])
        assert orders[1] == sorted(orders[1], reverse=True)


@pytest.mark.parametrize(
    ("query", "of", "value"),
    [("user=ann", "user", "ann"), ("state=running", "state", "runs"), ("pair=run12", "mate", "run12 · b:?")],
)
async def test_filters_are_in_the_address(full: PageSide, query: str, of: str, value: str) -> None:
    shown = await full.get(f"/jobs?{query}&sort=-nodes", "op")
    assert set(column(shown, of)) == {value}
    links = re.findall(r'<th scope="col"[^>]*><a href="([^"]*)"', shown.text)
    assert len(links) == 10
    assert all(f"{query}&amp;sort=" in link for link in links), "what is chosen stays when the order changes"


async def test_jobs_of_a_queue_are_chosen_where_a_batch_system_tells_it(tmp_path: Path) -> None:
    side = await known(filled(tmp_path, 40, 20))
    assert "Queue" not in words(await side.get("/jobs", "op"))
    for id in (20, 40):
        side.domain.jobs[str(id)].columns = f'{{"queue": "q{id}"}}'
    side.forget()
    shown = await side.get("/jobs?queue=q40", "op")
    assert ids(shown) == [40]
    assert "Queue all q20 q40" in words(shown)
    assert " Queue q40 " in words(await side.get("/jobs/40", "op"))


async def test_what_a_job_does_when_others_end_is_among_its_facts(tmp_path: Path) -> None:
    side = await known(filled(tmp_path, 40, 20))
    side.domain.jobs["40"].job.group.terms = Terms(("b",), True, OnMemberRequeued.REQUEUE, 600)
    then = "ends with b; fails if another fails; is queued again if another is queued again, within 10 min"
    assert f"If others end {then} of its start" in words(await side.get("/jobs/40", "op"))


async def test_pages_of_the_table_keep_what_is_chosen(full: PageSide) -> None:
    first = await full.get("/jobs?user=ann&sort=id", "op")
    (following,) = re.findall(r'rel="next" href="([^"]*)"', first.text)
    second = await full.get(f"/{unescape(following)}", "op")
    assert set(column(second, "user")) == {"ann"}
    assert min(ids(second)) > max(ids(first))
    with_mates = sum(record.paired for record in full.domain.jobs.values())
    assert f"{with_mates} shown" in (await full.get("/jobs?pair=*", "op")).text


async def test_users_see_their_own_jobs_and_choose_from_their_own_names(full: PageSide) -> None:
    shown = await coupled(full.world, here="own").get("/jobs", "ann")
    assert set(column(shown, "user")) == {"ann"}
    assert "<select" not in shown.text
    assert "484 queued" in words(shown)


@pytest.mark.parametrize(
    ("find", "hit"),
    [
        ("run12", "jobs/60"), ("60", "jobs/60"), ("a:60", "jobs/60"), ("b:10", "jobs/50"), ("1", "jobs/1"),
        ("ann", None), ("none", None),
    ],
)  # fmt: skip
async def test_what_is_found_once_is_shown_itself(full: PageSide, find: str, hit: str | None) -> None:
    """Job 1 has ended."""
    shown = await full.get(f"/jobs?find={find}", "op")
    assert (shown.status, shown.headers.get("location")) == ((303, hit) if hit else (200, None))
    assert hit or not ids(shown) or set(column(shown, "user")) == {find}


async def test_what_is_looked_for_comes_before_all_else(small: PageSide) -> None:
    text = (await small.get("/?find=run3", "op")).text
    assert text.index("pair run3") < text.index("Who waits for whom")
    everything = (await small.get("/", "op")).text
    assert everything.index("Who waits for whom") < everything.index("pair run3")


async def test_peers_that_tell_no_more_are_named_once_with_the_setting_that_would(small: PageSide) -> None:
    said = words(await (await known(small.world, there="own")).get("/", "op"))
    assert said.count("b tells you no more of its jobs") == said.count('show = "all"') == 1
    assert "tells you no more" not in words(await small.get("/", "op"))


async def test_a_peer_that_stopped_in_order_is_not_said_to_give_no_answer(tmp_path: Path) -> None:
    side = await known(filled(tmp_path, 6, 3))
    side.away = True
    side.domain.presence.leaves("b", 300)
    said = words(await side.get("/", "op"))
    assert "b stopped in order, and will be back" in said
    assert "gives no answer" not in said


@pytest.mark.parametrize(("settings", "says"), [(HOLD, True), (MEET, False)])
async def test_the_limit_of_holds_is_shown_only_where_jobs_hold(tmp_path: Path, settings: Any, says: bool) -> None:
    shown = await (await known(filled(tmp_path, 6, 3, settings))).get("/", "op")
    assert ("at most 16 held" in words(shown), "held: nodes wait" in words(shown)) == (says, says)


async def test_a_start_that_is_expected_stands_beside_its_mark_once(small: PageSide) -> None:
    shown = await small.get("/", "op")
    marks = re.findall(r'<text class="when"[^>]*>(in [^<]*)</text>', shown.text)
    assert marks
    assert any(mark.endswith(" here") for mark in marks)
    assert "start expected" not in words(shown)


async def test_a_story_is_a_time_line_of_both_sides_whose_points_lead_to_sentences(full: PageSide) -> None:
    text = (await full.get("/jobs/10", "op")).text
    assert re.findall(r'What happened to (\w+:\d+)"', text) == ["a:10", "b:2"]
    points = [int(place) for place in re.findall(r'<a href="#m(\d+)" class="point', text)]
    sentences = re.findall(r'<li id="m(\d+)" class="was-(\w+)"', text)
    assert {int(place) for place, _ in sentences} == set(range(1, len(sentences) + 1)) >= set(points)
    assert {"submitted", "ready", "held", "started"} <= {kind for _, kind in sentences}
    assert all(f'is-{kind}"' in text for kind in ("started", "held"))


async def test_a_job_whose_manager_has_not_begun_it_is_about_to_start(tmp_path: Path) -> None:
    side = await known(filled(tmp_path, 6, 3))
    side.domain.jobs["4"].began_at = None
    shown = await side.get("/jobs?state=running&pair=run2", "op")
    assert column(shown, "state") == ["starts"]
    assert "it is about to start" in words(shown)
    assert "a:4 starts" in words(await side.get("/", "op"))
    assert "a:4 starts" in words(await side.get("/jobs/4", "op"))


async def test_a_pair_that_started_apart_has_its_gap_on_the_time_line(tmp_path: Path) -> None:
    side = await known(filled(tmp_path, 6, 3))
    pair = side.domain.jobs["4"]
    assert (pair.state, pair.apart_s) == (JobState.RUNNING, None)
    assert 'class="apart"' not in (await side.get("/jobs/4", "op")).text
    for pair.apart_s in (7.2, -7.2):
        assert '<svg class="apart" role="img" aria-label="7 s apart">' in (await side.get("/jobs/4", "op")).text


def squares(shown: Answer) -> dict[str, int]:
    """How many squares the map has, by state."""
    found: dict[str, int] = {}
    for state, path in re.findall(r'<path class="nodes-(\w+)" d="([^"]*)"', shown.text):
        found[state] = found.get(state, 0) + path.count("M")
    return found


async def test_each_node_has_a_square_and_each_job_that_has_some_a_line(small: PageSide) -> None:
    shown = await small.get("/nodes", "op")
    told = re.findall(r"<strong>(\d+)</strong> (\w+)", shown.text.replace("> free", "> idle"))
    counts = {name: int(number) for number, name in told}
    assert squares(shown) == counts
    assert sum(counts.values()) == 16
    assert sum(map(int, column(shown, "nodes"))) == 16
    assert re.search(r"held \d+ \w+ \w+ run\d+ · b:\? released in \d+ min", words(shown))
    assert re.search(r"busy \d+ \w+ \w+ free in \d+ min at the latest", words(shown))


@pytest.mark.parametrize(("size", "each"), [(4096, 1), (40_960, 10)])
async def test_4096_squares_are_enough(tmp_path: Path, size: int, each: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.service.page_world.PageNode.size", size)
    world = PageWorld(tmp_path, 1, dict.fromkeys("ab", HOLD), Faults())
    shown = await coupled(world).get("/nodes", "op")
    assert squares(shown) == {"idle": nodes.MOST}
    assert len(shown.text.encode()) < MOST / 5
    assert ("Each square stands for" in words(shown)) == (each > 1)


async def test_many_groups_of_nodes_are_one_line_of_each_state(small: PageSide) -> None:
    side, busy = coupled(small.world), cluster_pb2.NODE_STATE_BUSY
    many = [cluster_pb2.NodeGroup(state=busy, count=1, names=[f"n{number}"]) for number in range(nodes.MOST)]
    side.described.views.node_groups = AsyncMock(return_value=many)
    shown = await side.get("/nodes", "op")
    assert squares(shown) == {"busy": nodes.MOST}
    counts = [int(count.replace(",", "")) for count in column(shown, "nodes")]
    assert counts == [1] * nodes.MOST_LINES + [nodes.MOST - nodes.MOST_LINES]
    assert len(shown.text.encode()) < MOST / 2


async def test_whose_jobs_have_nodes_is_told_to_those_who_may_see_them(small: PageSide) -> None:
    """The nodes of others are not told apart."""
    side = coupled(small.world, here="own")
    for user in ("ann", "nobody"):
        shown = await side.get("/nodes", user)
        assert set(column(shown, "user")) <= {user, ""}
        assert squares(shown) == squares(await small.get("/nodes", "op"))
    assert column(shown, "state") == ["held", "busy"]


async def test_a_batch_system_that_does_not_answer_is_told_on_the_map(small: PageSide) -> None:
    side = coupled(small.world)
    silent = Refusal(grpc.StatusCode.UNAVAILABLE, "MANAGER", "Slurm does not answer")
    side.described.queue.node_states = AsyncMock(side_effect=silent)
    assert "Slurm does not answer." in words(await side.get("/nodes", "op"))


async def test_nodes_with_names_are_in_their_order(small: PageSide) -> None:
    side = coupled(small.world)
    names = [f"n{number}" for number in range(1, 33)]
    idle = cluster_pb2.NodeGroup(state="NODE_STATE_IDLE", count=31, names=names[:9] + names[10:])
    down = cluster_pb2.NodeGroup(state="NODE_STATE_DOWN", count=1, names=["n10"], reason="its disk")
    side.described.views.node_groups = AsyncMock(return_value=[idle, down])
    shown = await side.get("/nodes", "op")
    assert '<path class="nodes-down" d="M9 0h' in shown.text, "the tenth"
    assert "31 free n[1-9,11-32] 1 down its disk n10" in words(shown)


async def test_the_history_is_as_long_as_there_is_something_and_compares_waits(full: PageSide) -> None:
    shown = await full.get("/history?past=7d", "op")
    said = words(shown)
    assert "The last 30 min of a" in said
    assert "past=" not in shown.text, "there is nothing to choose from"
    assert re.search(r"Waits of jobs with mates 2 \d+ min \d+ min \d+ min", said)
    assert re.search(r"Waits of other jobs \d\d \d+ min", said)
    assert "Holds 0 – – –" in said
    assert "Starts apart from the mate 0 – – –" in said


async def test_many_who_look_at_nodes_at_once_make_one_look(small: PageSide) -> None:
    side = coupled(small.world)
    side.described.views.node_groups = counted = AsyncMock(side_effect=side.described.views.node_groups)
    await asyncio.gather(*(side.get("/nodes", "op") for _ in range(5)))
    assert counted.await_count == 1
