"""The page of a domain, with real services: what it shows of its own jobs and of other domains', to whom.

Domain a shows people their own jobs; its peer b lets everybody see its jobs, its peer c has no page.
"""

import asyncio
import json
import re
from html import unescape
from typing import Any

import pytest

from tests.live.pages import JOB, Pages, live, pages
from tests.service.page_clients import PATIENCE, Answer

__all__ = ["pages"]


def words(answer: Answer) -> str:
    """The text of a page, without its tags."""
    assert answer.status == 200, answer.text
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", answer.text)).split())


def lane(answer: Answer, job: str) -> str:
    """What a reader hears of a lane; empty if there is none."""
    found = re.search(rf'aria-label="{job}: ([^"]*)"', answer.text)
    return found[1] if found else ""


async def told(pages: Pages, job: str, what: str, user: str | None = None) -> Answer:
    """The first page of a, once a reader hears this of a lane; the peers answer at their pace."""
    async with asyncio.timeout(PATIENCE):
        while what not in lane(answer := await pages.get("/", user), job):
            await asyncio.sleep(0.2)
    return answer


async def test_a_pair_is_one_row_with_a_lane_for_each_domain_and_who_waits_for_whom_is_said(pages: Pages) -> None:
    answer = await told(pages, "b:1", "started")
    said = words(answer)
    assert "pair run7" in said
    assert "started" in lane(answer, "a:1")
    assert "2 shown" in said
    assert "<b>fluid" not in answer.text, "what users name is text"
    assert "&lt;b&gt;fluid" in answer.text
    assert "1 job of a holds nodes for jobs of c" in said
    assert re.search(r"1 node idle. Its hold ends in \d+ min a:2 holds (in \d+ min )?c:2 (queued|not known yet)", said)
    assert "4 nodes: 2 idle, 1 busy, 1 held; at most 2 held" in said
    assert re.search(r"b 4 nodes: 3 idle, 1 busy", said)
    assert said.count("Heartbeat answers") == 2


async def test_others_see_numbers_and_no_jobs(pages: Pages) -> None:
    answer = await pages.get("/", "bob")
    said = words(answer)
    for secret in ("run7", "fluid", "run8", "jobs/1", f"{pages.user} ·"):
        assert secret not in answer.text
    assert "1 wait" in said or "1 hold" in said
    assert "1 job of a holds nodes for jobs of c" in said
    assert (await pages.get("/jobs/1", "bob")).status == 404
    assert "no job with a mate that you may see, and that matches “run7”" in words(
        await pages.get("/?find=run7", "bob")
    )


async def test_an_operator_sees_all_jobs_here_and_elsewhere_what_others_let_all_see(pages: Pages) -> None:
    answer = await told(pages, "b:1", "started", "op")
    assert "pair run8" in words(answer)
    assert not lane(answer, "c:2")
    assert 'c tells you no more of its jobs: show = "all" in its [page] would fill their lanes here' in words(answer)


async def test_owners_see_their_mates_on_domains_that_show_nobody_elses(pages: Pages) -> None:
    await told(pages, "c:2", "submitted")


async def test_a_domain_that_shows_all_shows_them_to_everybody_here(pages: Pages) -> None:
    assert "pair run7" in words(await pages.get("/", "bob", "b"))
    assert "started" not in lane(await pages.get("/", "bob", "b"), "a:1")  # a shows bob nothing


async def test_the_story_of_a_job_is_merged_from_all_domains(pages: Pages) -> None:
    said = words(await pages.get("/jobs/1"))
    assert re.search(r"a submitted; its mate: the job of pair run7 on b", said)
    assert re.search(r"b submitted; its mate: the job of pair run7 on a", said)
    assert len(re.findall(r"[ab] started: ", said)) == 2
    moments = re.findall(r"\d\d:\d\d:\d\d (?=[ab] )", said)
    assert moments == sorted(moments)
    assert "?story=all" not in (await pages.get("/jobs/2")).text  # nothing is folded
    assert "What happens again and again as one line" in words(await pages.get("/jobs/2?story=all"))
    assert "c lets you see nothing more of its job" in words(await pages.get("/jobs/2", "op"))


async def test_when_a_mate_starts_is_told_as_far_as_its_domain_allows(pages: Pages) -> None:
    """An operator of a sees all of a; c shows people their own jobs only, b shows all."""

    async def explained(job: int, user: str | None = None) -> Any:
        return json.loads((await pages.get(f"/api/v1/jobs/{job}/explanation", user)).text)

    async with asyncio.timeout(PATIENCE):
        while (await explained(2))["mates"][0]["state"] != "queued":  # for the owner
            await asyncio.sleep(0.2)
    assert (await explained(2))["together"] is not None
    told = await explained(2, "op")
    assert told["job"]["state"] == "holding"
    assert told["mates"][0]["problem"] == "c lets you see nothing of it"
    nothing = {"id": "2", "domain": "c", "problem": told["mates"][0]["problem"], "nodes": 0}
    assert {key: value for key, value in told["mates"][0].items() if value not in (None, "")} == nothing
    assert told["together"] is None
    assert (await explained(1, "op"))["mates"][0]["state"] == "running"
    assert "together" not in words(await pages.get("/jobs/2", "op")).lower().partition("story")[0]


@pytest.mark.parametrize("path", ["/jobs/99", "/jobs/x", "/jobs/-1", "/jobs/%2e%2e", "/nothing", "/jobs/1/2"])
async def test_what_is_not_there(pages: Pages, path: str) -> None:
    assert (await pages.get(path)).status == 404


WITHOUT_SENSE = (
    *("past=x", "first=-1", "first=10000000000000", "find=%00%ff", f"find={'x' * 500}", f"state={'x' * 99}"),
    *("sort=x", "sort=-"),
)


@pytest.mark.parametrize("page", ["/", "/jobs", "/nodes", "/history"])
async def test_questions_without_sense_are_no_faults(pages: Pages, page: str) -> None:
    answers = {query: (await pages.get(f"{page}?{query}")).status for query in WITHOUT_SENSE}
    assert set(answers.values()) == {200}, answers


async def test_all_jobs_are_counted_for_everybody_and_listed_for_those_who_may_see_them(pages: Pages) -> None:
    with pages.b.client() as b:
        alone = b.submit(JOB, nodes=4, time_limit=900, name="alone")
        for user in (pages.user, "bob"):
            said = words(await pages.get("/jobs", user, "b"))  # b shows all
            assert re.search(r"1 runs 1 node 1 queued 4 nodes", said)
            row = rf" {alone.id} alone {pages.user} 4 15 min queued 1 in 1\d min it needs 4 nodes, 3 are free"
            assert re.search(row, said)
        assert "alone" not in words(await pages.get("/jobs?state=running", "bob", "b"))
        assert (await pages.get("/jobs?find=alone", "bob", "b")).headers["location"] == f"jobs/{alone.id}"
        assert "1 shown" in words(await pages.get("/jobs?find=alone&sort=id", "bob", "b"))
        assert "that you may see, and that matches" in words(await pages.get("/jobs?find=nothing", "bob", "b"))
        assert "it needs 4 nodes" in words(await pages.get(f"/jobs/{alone.id}", "bob", "b")).lower()
        b.cancel(alone)
    hidden = words(await pages.get("/jobs", "bob"))
    assert "1 holds 1 node" in hidden
    assert "There is no job that you may see" in hidden
    assert "run8" not in hidden


async def test_when_a_pair_is_expected_to_start(pages: Pages) -> None:
    """c's job is expected when the one before it ends; its own domain tells that to its owner only."""
    async with asyncio.timeout(PATIENCE):
        while ">in 1" not in (await pages.get("/")).text:
            await asyncio.sleep(0.2)
            await pages.get("/jobs/2")  # asks c
    assert "expected to start in 1" in lane(await told(pages, "c:2", "submitted"), "c:2")
    assert ">in 1" not in (await pages.get("/", "op")).text


async def test_find(pages: Pages) -> None:
    said = words(await pages.get("/?find=run8"))
    assert "pair run8" in said
    assert "pair run7" not in said
    assert "1 shown" in said


async def test_the_files_of_the_page(pages: Pages) -> None:
    css, script = await pages.get("/page.css"), await pages.get("/page.js")
    assert css.headers["content-type"].startswith("text/css")
    assert script.headers["content-type"].startswith("text/javascript")
    assert "url(http" not in css.text


async def test_the_history_names_nobody(pages: Pages) -> None:
    for user in (pages.user, "bob"):
        answer = await pages.get("/history", user)
        said = words(answer)
        assert re.search(r"The last \d+ min of a", said), "as long as there is something"
        assert "1 starts with a mate" in said
        assert "100 % started together" in said
        assert "run7" not in said
        assert "b always there" in unescape(answer.text.replace(":", ""))
    assert "4 nodes 2 0" in words(await pages.get("/history?past=6h")), "the numbers of the scale"


async def test_live_pages_hear_of_changes_and_are_limited(pages: Pages) -> None:
    async with live(pages.asker()) as one, live(pages.asker()) as other:
        for reader in (one, other):
            assert b"200 OK" in await reader.readuntil(b"\r\n\r\n")
            await reader.readuntil(b"retry: 5000")
        refused = await pages.get("/live")
        assert refused.status == 429
        assert "2 pages of yours are live" in refused.text
        with pages.a.client() as client:
            job = client.submit(JOB, hold=True)
            client.cancel(job)
            await one.readuntil(b"event: changed")
    assert (await pages.get("/", "op")).status == 200
