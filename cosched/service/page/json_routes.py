"""The JSON interface, for other programs: what commands show with `--json`, read-only, to whom the page shows it."""

from __future__ import annotations

import types
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime, timedelta
from functools import wraps
from typing import Any, Union, get_args, get_origin, get_type_hints

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from cosched.client.domains import Domain
from cosched.client.explanations import Explanation
from cosched.client.fields import Field
from cosched.client.jobs import JOB_STATES, Job
from cosched.client.usage import USAGE_BY, Usage
from cosched.client.view import View
from cosched.core.job import JobState
from cosched.service.api.usage_api import sums
from cosched.service.page.page_api import Described
from cosched.service.page.peers_told import PeersTold
from cosched.service.store import JobRecord
from cosched.service.wire.fields import FieldError, number
from cosched.v1 import usage_pb2
from cosched.validation.durations import parse_seconds
from cosched.version import VERSION
from cosched.words.plain_json import json_value

Schema = dict[str, Any]
_PLAIN: Mapping[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    datetime: {"type": "string", "format": "date-time"},
    timedelta: {"type": "number", "description": "in seconds"},
}
PREFIX = "/api/v1"
MOST_JOBS = 1000
ACTIVE = tuple(state for state in JobState if not state.final and state is not JobState.PENDING)
STATES = {word: JobState(value) for value, word in JOB_STATES.items() if value in set(JobState)}
Handler = Callable[[Request], Awaitable[Any]]


class _RefusedError(Exception):
    """The request cannot be answered; `str()` is one line for people."""

    def __init__(self, status: int, said: str) -> None:
        super().__init__(said)
        self.status = status


class JsonApi:
    """The handlers of one domain."""

    def __init__(self, described: Described, told: PeersTold) -> None:
        self._described = described
        self._domain = described.domain
        self._policy = described.policy
        self._reads = described.reads
        self._told = told

    def routes(self) -> list[Route]:
        """Return the routes; the guard before them knows who asks."""
        handlers: Mapping[str, Handler] = {
            "/domain": self._about,
            "/jobs": self._jobs,
            "/jobs/{job}": self._job,
            "/jobs/{job}/explanation": self._explanation,
            "/usage": self._sums,
            "/openapi.json": self._description,
        }
        return [Route(PREFIX + path, _answering(handler)) for path, handler in handlers.items()]

    async def _about(self, _: Request) -> Any:
        return Domain(self._described.about()).as_dict()

    async def _jobs(self, request: Request) -> Any:
        viewer, asked = request.state.viewer, request.query_params
        owner = asked.get("owner")
        if not self._policy.sees_all(viewer):
            if viewer.name is None or owner not in (None, viewer.name):
                raise _RefusedError(403, "you may see your own jobs only")
            owner = viewer.name
        most, after = _whole(asked.get("limit", "100"), "limit", MOST_JOBS), _whole(asked.get("after", "0"), "after")
        words = asked.getlist("state")
        if not STATES.keys() >= {*words}:
            raise _RefusedError(400, f"state: must be one of {', '.join(STATES)}")
        states = [STATES[word] for word in words] or ACTIVE
        async with self._reads.reading(viewer.key):
            found = await self._reads.jobs(states, owner, "paired" in asked, after - 1, most + 1)
        shown = [self._view(self._domain.jobs.get(str(record.id), record)).as_dict() for record in found[:most]]
        return {"jobs": shown, "next": found[most].id if len(found) > most else None}

    async def _job(self, request: Request) -> Any:
        return self._view(await self._seen(request)).as_dict()

    async def _explanation(self, request: Request) -> Any:
        record, viewer = await self._seen(request), request.state.viewer
        async with self._reads.reading(viewer.key):
            [explained] = await self._described.explaining.explain([record], names=viewer.name == record.owner)
        return Explanation(await self._told.allowed(viewer, explained)).as_dict()

    async def _seen(self, request: Request) -> JobRecord:
        """Return the job that is asked for, if the viewer may see it."""
        viewer, job = request.state.viewer, request.path_params["job"]
        id = number(job)
        record = None
        if id is not None:
            await self._described.queue.look_for(job)
            record = self._domain.jobs.get(job)
            if record is None:
                async with self._reads.reading(viewer.key):
                    record = await self._reads.job(id)
        if record is None or not self._policy.sees(viewer, record.owner):
            raise _RefusedError(404, "there is no such job that you may see")
        return record

    def _view(self, record: JobRecord) -> Job:
        return Job(self._described.views.job(record))

    async def _sums(self, request: Request) -> Any:
        viewer, asked = request.state.viewer, request.query_params
        by = asked.get("by", "user")
        if by not in USAGE_BY.values():
            raise _RefusedError(400, f"by: must be one of {', '.join(USAGE_BY.values())}")
        if by != "user" and not self._policy.sees_all(viewer):
            raise _RefusedError(403, "you may see your own usage only: by=user")
        question = usage_pb2.ListUsageRequest(by=f"USAGE_BY_{by.upper()}")
        if "since" in asked:
            question.since.FromDatetime(self._described.now())
            try:
                question.since.seconds -= parse_seconds(asked["since"])
            except ValueError as error:
                raise _RefusedError(400, f"since: {error}") from None
        async with self._reads.reading(viewer.key):
            found = await sums(self._domain, self._reads, question)
        return [Usage(one).as_dict() for one in found.usages if by != "user" or self._policy.sees(viewer, one.name)]

    async def _description(self, _: Request) -> Any:
        return description(self._domain.name)


def description(domain: str) -> dict[str, Any]:
    """Return the OpenAPI description."""
    job = {"name": "job", "in": "path", "required": True, "schema": {"type": "integer"}, "description": "a job's id"}
    listed = {
        "type": "object",
        "required": ["jobs", "next"],
        "properties": {
            "jobs": {"type": "array", "items": reference(Job)},
            "next": {"anyOf": [{"type": "integer"}, {"type": "null"}], "description": "`after` for the next jobs"},
        },
    }
    by, since = ", ".join(USAGE_BY.values()), "of the last 7d, 12h, ...; else all that is kept"
    return {
        "openapi": "3.1.0",
        "info": {
            "title": f"cosched: {domain}",
            "version": VERSION,
            "description": "What a policy domain's commands show with --json. Read-only; instants are ISO 8601 in UTC, "
            "durations are in seconds. Who sees whose jobs is the policy of the domain's page.",
        },
        "paths": {
            f"{PREFIX}/domain": _get("The domain and its peers.", reference(Domain)),
            f"{PREFIX}/jobs": _get(
                "Jobs by id: those that have not ended, unless states are given.",
                listed,
                _query("state", "once for each state: " + ", ".join(STATES)),
                _query("owner", "of this user"),
                _query("paired", "only jobs with mates"),
                _query("after", "from this id on"),
                _query("limit", f"at most so many: up to {MOST_JOBS}, 100 by default"),
            ),
            f"{PREFIX}/jobs/{{job}}": _get("A job.", reference(Job), job),
            f"{PREFIX}/jobs/{{job}}/explanation": _get(
                "When a job and its mates start, why they wait, what they have cost.", reference(Explanation), job
            ),
            f"{PREFIX}/usage": _get(
                "What jobs have cost beyond their runs, in node-seconds.",
                {"type": "array", "items": reference(Usage)},
                _query("by", f"one of {by}; user by default"),
                _query("since", since),
            ),
        },
        "components": {"schemas": schemas((Domain, Job, Explanation, Usage))},
    }


def _get(summary: str, schema: dict[str, Any], *parameters: dict[str, Any]) -> dict[str, Any]:
    problem = {"description": "refused; `error` says why", "content": {"application/json": {"schema": {
        "type": "object", "required": ["error"], "properties": {"error": {"type": "string"}},
    }}}}  # fmt: skip
    answer = {"description": "the answer", "content": {"application/json": {"schema": schema}}}
    return {"get": {"summary": summary, "parameters": list(parameters), "responses": {"200": answer, "4XX": problem}}}


def _query(name: str, text: str) -> dict[str, Any]:
    return {"name": name, "in": "query", "required": False, "description": text, "schema": {"type": "string"}}


def _answering(handler: Handler) -> Callable[[Request], Awaitable[Response]]:
    @wraps(handler)
    async def answer(request: Request) -> Response:
        try:
            return JSONResponse(json_value(await handler(request)))
        except _RefusedError as error:
            return JSONResponse({"error": str(error)}, error.status)
        except FieldError as error:
            return JSONResponse({"error": str(error)}, 400)

    return answer


def _whole(text: str, name: str, most: int = 1 << 62) -> int:
    value = number(text)
    if value is None or value > most:
        raise _RefusedError(400, f"{name}: must be a whole number from 0 to {most}")
    return value


def schemas(views: Iterable[type[View[Any]]]) -> dict[str, Schema]:
    """Return the schemas of these views, and of those that they consist of, by name."""
    found: dict[str, Schema] = {}
    for view in views:
        _add(view, found)
    return found


def reference(view: type[View[Any]]) -> Schema:
    """Return the reference to a view's schema."""
    return {"$ref": f"#/components/schemas/{view.__name__}"}


def _add(view: type[View[Any]], found: dict[str, Schema]) -> None:
    if view.__name__ in found:
        return
    properties: dict[str, Schema] = {}
    schema: Schema = {"type": "object", "description": (view.__doc__ or "").strip(), "properties": properties}
    found[view.__name__] = schema
    for name, attribute in vars(view).items():
        if isinstance(attribute, property) and attribute.fget is not None:
            kind = attribute.kind if isinstance(attribute, Field) else get_type_hints(attribute.fget)["return"]
            told = {"description": " ".join((attribute.__doc__ or "").split())}
            properties[name] = told | _schema(kind, found)
    schema["required"] = list(properties)


def _schema(kind: Any, found: dict[str, Schema]) -> Schema:
    if kind in _PLAIN:
        return dict(_PLAIN[kind])
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (types.UnionType, Union):
        return {"anyOf": [_schema(part, found) for part in parts if part is not type(None)] + [{"type": "null"}]}
    if origin is tuple:
        return {"type": "array", "items": _schema(parts[0], found)}
    if isinstance(kind, type) and issubclass(kind, View):
        _add(kind, found)
        return reference(kind)
    return {"type": "object"}
