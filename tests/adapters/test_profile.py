"""The profile, against one that looks at each second of each node."""

from hypothesis import given, settings
from hypothesis import strategies as st

from cosched_adapters.profile import FOREVER, LICENCES, Asks, Opening, Profile

NODES = [f"n{number}" for number in range(4)]
NOW = 5
HORIZON = 90  # seconds; all that is taken ends before
takings = st.lists(
    st.tuples(st.sets(st.sampled_from(NODES)), st.integers(0, 30), st.integers(1, 30)).map(
        lambda taken: (frozenset(taken[0]), taken[1], taken[1] + taken[2])
    ),
    max_size=6,
)
Takings = list[tuple[frozenset[str], int, int]]


def profile_of(taken: Takings) -> Profile:
    profile = Profile(NOW, NODES)
    for nodes, start, end in taken:
        profile.take(nodes, start, end)
    return profile


def free_nodes(taken: Takings, at: int, seconds: int, among: set[str]) -> set[str]:
    """The nodes that nothing takes in any second of [at, at + seconds)."""
    busy = {n for nodes, start, end in taken for n in nodes if start < at + seconds and at < end}
    return among - busy


@given(takings, st.integers(1, 4), st.integers(1, 40), st.integers(0, 70), st.sets(st.sampled_from(NODES)))
@settings(max_examples=400, deadline=None)
def test_a_job_gets_the_first_second_from_which_enough_nodes_stay_free(
    taken: Takings, count: int, seconds: int, not_before: int, among: set[str]
) -> None:
    """meet.md, 1: "j fits at t if its nodes are there for all of [t, t + requested)"."""
    instants = range(max(NOW, not_before), HORIZON)
    able = (at for at in instants if len(free_nodes(taken, at, seconds, among)) >= count)
    expected = next(able, None)
    found = profile_of(taken).earliest(count, seconds, not_before, among)
    assert (found and found.at) == expected
    if found is not None:
        assert len(set(found.nodes)) == count
        assert set(found.nodes) <= free_nodes(taken, found.at, seconds, among)


@given(takings, st.integers(1, 4), st.integers(1, 40), st.sets(st.sampled_from(NODES)))
@settings(max_examples=300, deadline=None)
def test_a_job_fits_now_if_enough_nodes_stay_free_beside_others_if_they_suffice(
    taken: Takings, count: int, seconds: int, after: set[str]
) -> None:
    free = free_nodes(taken, NOW, seconds, set(NODES))
    found = profile_of(taken).fits(count, seconds, NODES, after)
    assert (found is not None) == (len(free) >= count)
    if found is not None:
        assert set(found.nodes) <= free
        assert len(set(found.nodes) & after) == max(0, count - len(free - after))


def test_a_job_without_a_limit_needs_nodes_that_nobody_wants_again() -> None:
    profile = profile_of([(frozenset({"n0"}), 50, 60)])
    assert profile.earliest(4, FOREVER, 0, NODES) == Opening(60, ("n0", "n1", "n2", "n3"))
    profile.take(["n1"], NOW, FOREVER)
    assert profile.earliest(4, 1, 0, NODES) is None


def test_a_job_gets_the_nodes_that_others_take_soonest() -> None:
    profile = profile_of([(frozenset({"n3"}), 50, 60), (frozenset({"n2"}), 40, 60)])
    assert profile.fits(2, 10, NODES) == Opening(NOW, ("n2", "n3"))
    assert profile.fits(2, 40, NODES) == Opening(NOW, ("n3", "n0"))


def test_nodes_that_cannot_be_used_are_never_free() -> None:
    assert profile_of([]).earliest(1, 1, 0, ["down"]) is None


parts = st.dictionaries(st.sampled_from(["cpu", "gpu"]), st.integers(0, 3), max_size=2)
shares = st.lists(
    st.tuples(st.sets(st.sampled_from(NODES)), st.integers(0, 30), st.integers(1, 30), parts | st.none(), parts),
    max_size=6,
)
ROOM = {**{node: {"cpu": 4, "gpu": 2} for node in NODES}, LICENCES: {"cpu": 3, "gpu": 3}}


@given(shares, st.integers(1, 4), st.integers(1, 40), st.integers(0, 70), parts | st.none(), parts)
@settings(max_examples=400, deadline=None)
def test_a_job_that_takes_parts_of_nodes_and_licences_starts_once_they_are_there(
    taken: list[tuple[set[str], int, int, dict[str, int] | None, dict[str, int]]],
    count: int,
    seconds: int,
    not_before: int,
    amounts: dict[str, int] | None,
    licences: dict[str, int],
) -> None:
    profile = Profile(NOW, NODES, ROOM)
    for nodes, start, length, its, of_machine in taken:
        profile.take(nodes, start, start + length, Asks(its, of_machine))

    def has_room(place: str, its: list[dict[str, int] | None], wanted: dict[str, int] | None) -> bool:
        if None in its or (wanted is None and its):
            return False
        used = [sum(each.get(kind, 0) for each in its if each is not None) for kind in ("cpu", "gpu")]
        return all(
            (wanted or {}).get(kind, 0) == 0 or have + (wanted or {})[kind] <= ROOM[place].get(kind, 0)
            for kind, have in zip(("cpu", "gpu"), used, strict=True)
        )

    def free(at: int) -> set[str]:
        now = [each for each in taken if each[1] <= at < each[1] + each[2]]
        if not has_room(LICENCES, [each[4] for each in now], licences):
            return set()
        return {node for node in NODES if has_room(node, [each[3] for each in now if node in each[0]], amounts)}

    seen = {at: free(at) for at in range(HORIZON + 40)}
    kept = lambda at: set(NODES).intersection(*(seen[second] for second in range(at, at + seconds)))  # noqa: E731
    expected = next((at for at in range(max(NOW, not_before), HORIZON) if len(kept(at)) >= count), None)
    found = profile.earliest(count, seconds, not_before, NODES, Asks(amounts, licences))
    assert (found and found.at) == expected
    assert found is None or set(found.nodes) <= kept(found.at)
    fits = profile.fits(count, seconds, NODES, asks=Asks(amounts, licences))
    assert (fits is not None) == (len(kept(NOW)) >= count)
