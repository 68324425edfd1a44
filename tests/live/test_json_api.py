"""The JSON interface of a domain: what commands show with --json, to whom the page shows it, as it is described."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.live.services import Pair, script_that_waits, wait_until
from tests.service.page_clients import Answer, Asker

pytest.importorskip("starlette")


class Api:
    """Domain a with a page that shows people their own jobs, and a pair that waits."""

    def __init__(self, pair: Pair) -> None:
        self.pair, self.port = pair, int(pair.a.listen_to_http().rpartition(":")[2])
        pair.a.config["domain"]["operators"] = ["op"]
        pair.a.config["page"] = {"show": "own", "proxies": ["127.0.0.1"]}
        pair.start()
        script = script_that_waits(pair.folder, pair.folder / "go")
        with pair.a.client() as a:
            self.user = a.submit(script, nodes=4, time_limit=3600).owner
            held = a.submit(script, pair="p", time_limit=3600)
            wait_until(lambda: a.job(1).state == "running")
            self.job = held.id

    async def answer(self, path: str, user: str = "") -> Answer:
        return await Asker(self.port, {"X-Remote-User": user or self.user}).get(f"/api/v1{path}")

    async def get(self, path: str, user: str = "") -> Any:
        answer = await self.answer(path, user)
        assert (answer.status, answer.headers["content-type"]) == (200, "application/json"), answer.text
        return json.loads(answer.text)

    async def refused(self, path: str, user: str = "") -> tuple[int, str]:
        answer = await self.answer(path, user)
        return answer.status, json.loads(answer.text)["error"]


@pytest.fixture
def api(make_pair: Any) -> Iterator[Api]:
    made = Api(make_pair(scheme="hold"))
    yield made
    assert not made.pair.a.faults()


async def test_it_tells_what_the_commands_tell_to_those_who_may_know(api: Api) -> None:
    shown = json.loads(api.pair.a.run("queue", "--json").stdout)
    assert (await api.get("/jobs"))["jobs"] == shown
    assert await api.get("/jobs?limit=1") == {"jobs": shown[:1], "next": 2}
    assert await api.get("/jobs?after=2&paired") == {"jobs": shown[1:], "next": None}
    assert (await api.get("/jobs?state=completed&state=failed"))["jobs"] == []
    assert await api.get(f"/jobs/{api.job}") == shown[1]
    told = await api.get(f"/jobs/{api.job}/explanation")
    assert told["job"]["reason"]["detail"] == {"required": 1, "available": 0}
    assert (await api.get("/domain"))["name"] == "a"
    assert await api.get("/usage?by=user&since=7d") == []

    assert (await api.get("/jobs", "op"))["jobs"] == shown
    assert (await api.get("/jobs", "eve"))["jobs"] == []
    assert (await api.refused(f"/jobs/{api.job}", "eve"))[0] == 404
    assert (await api.refused(f"/jobs/{api.job}/explanation", "eve"))[0] == 404
    assert await api.refused(f"/jobs?owner={api.user}", "eve") == (403, "you may see your own jobs only")
    assert (await api.refused("/usage?by=account", "eve"))[0] == 403
    for path in ("/jobs/99", "/jobs/x", "/jobs/%00"):
        assert (await api.refused(path))[0] == 404
    since = [f"usage?since={wrong}" for wrong in ("x", f"{'9' * 11}d", "30000d")]
    for path in ("jobs?state=odd", "jobs?limit=-1", "jobs?limit=9999", "usage?by=x", *since):
        assert (await api.refused(f"/{path}"))[0] == 400
    await follows_its_description(api)


async def follows_its_description(api: Api) -> None:
    described = await api.get("/openapi.json")
    schemas = described["components"]["schemas"]
    assert set(described["paths"]) == {
        f"/api/v1{path}" for path in ("/domain", "/jobs", "/jobs/{job}", "/jobs/{job}/explanation", "/usage")
    }
    for path, given in described["paths"].items():
        asked = path.replace("{job}", api.job).removeprefix("/api/v1")
        schema = given["get"]["responses"]["200"]["content"]["application/json"]["schema"]
        check(await api.get(asked), schema, schemas)


TYPES = {"string": str, "integer": int, "number": int | float, "boolean": bool, "null": type(None)}


def check(value: Any, schema: dict[str, Any], schemas: dict[str, Any]) -> None:
    """As far as this interface uses JSON Schema."""
    if "anyOf" in schema:
        chosen = [one for one in schema["anyOf"] if (one.get("type") == "null") == (value is None)]
        check(value, chosen[0], schemas)
    elif "$ref" in schema:
        check(value, schemas[schema["$ref"].rpartition("/")[2]], schemas)
    elif schema["type"] == "array":
        for item in value:
            check(item, schema["items"], schemas)
    elif schema["type"] == "object":
        assert set(value) == set(schema.get("properties", value))
        for name, part in schema.get("properties", {}).items():
            check(value[name], part, schemas)
    else:
        assert isinstance(value, TYPES[schema["type"]]), (value, schema)
