"""The strips of Jacobi and Life: memory and times of the paper, maps by hand."""

import pytest

from cosched.planning.application import NoMapError
from cosched.planning.sites import by_name
from cosched.planning.strips import JACOBI, LIFE, StripKeys
from tests.planning.testbeds import grid, paper


def made(machines, size, application=JACOBI, **settings):
    return application.make(size, application.keys(**settings), machines, by_name(machines))


def test_memory_is_that_of_the_paper():
    """IV.A: "aggregate application memory requirements for these sizes range from 3 MB for N = 600 to 3375 MB for
    N = 19200"."""
    for size, mb in ((600, 3), (19_200, 3375)):
        exact = StripKeys().memory * size * size / 2**20
        assert round(exact) == mb
        enough = grid([("a", 1, exact * 1.001)])
        assert made(enough, size)[1].map(enough.machines).shares == (size,)
        less = grid([("a", 1, exact * 0.99)])
        with pytest.raises(NoMapError, match="too little memory"):
            made(less, size)[1].map(less.machines)


def test_two_machines_share_what_takes_one_three_milliseconds():
    """N = 100, two of 100 MHz, 30 cycles, 64 Mb/s, 0.1 ms: alone 3 ms; 50 + 50: 1.5 + 0.4 = 1.9 ms."""
    machines = grid([("a", 100, 100), ("b", 100, 100)], [("a", "b", 64, 0.0001)])
    model, mapper = made(machines, 100, cycles=30)
    alone, both = mapper.map(machines.machines[:1]), mapper.map(machines.machines)
    assert model.predict(alone).time == pytest.approx(0.003)
    assert both.shares == (50, 50)
    assert model.predict(both).time == pytest.approx(0.0019)
    assert model.predict(both).costs[0] == pytest.approx((0.0015, 0.0004))


def test_life_sends_half_as_many_bytes():
    machines = grid([("a", 100, 100), ("b", 100, 100)], [("a", "b", 64, 0.0)])
    sent = [made(machines, 100, application)[0].exchanges(machines.machines)[0] for application in (JACOBI, LIFE)]
    assert sent[0] == pytest.approx(2 * sent[1])


def test_sites_come_in_the_order_of_the_least_exchanges():
    """Links x-y 1 Mb/s, x-z, y-z 10: order x z y."""
    machines = grid(
        [("1.x", 100, 100), ("1.y", 100, 100), ("1.z", 100, 100)],
        [("1.x", "1.y", 1, 0.0), ("1.x", "1.z", 10, 0.0), ("1.y", "1.z", 10, 0.0)],
    )
    _, mapper = made(machines, 100)
    assert [each.name for each in mapper.map(machines.machines).machines] == ["1.x", "1.z", "1.y"]


def test_of_orders_of_sites_that_exchange_alike_the_fastest_is_taken():
    """A row takes b.x 20 us, the others 5 us, and an exchange between the sites 0.4 ms.

    Each machine has a row at least. Before y, b.x exchanges, and ends at 420 us; after y, a.x does, and ends at 405 us.
    """
    inside = [("a.x", "b.x", 1e9, 0.0), ("c.y", "d.y", 1e9, 0.0)]
    between = [(one, other, 1e9, 0.0002) for one in ("a.x", "b.x") for other in ("c.y", "d.y")]
    machines = grid([("a.x", 400, 9), ("b.x", 100, 9), ("c.y", 400, 9), ("d.y", 400, 9)], [*inside, *between])
    model, mapper = made(machines, 50)
    found = mapper.map(machines.machines)
    assert [each.name for each in found.machines] == ["c.y", "d.y", "a.x", "b.x"]
    assert model.predict(found).time == pytest.approx(405e-6)


def test_a_map_that_uses_an_unknown_link_is_none():
    machines = grid([("1.x", 100, 100), ("1.y", 100, 100)])
    _, mapper = made(machines, 100)
    with pytest.raises(NoMapError, match=r"the link between 1\.x and 1\.y is not known"):
        mapper.map(machines.machines)


def test_too_little_memory_and_too_few_rows_are_told():
    machines = grid([("a", 100, 0.01), ("b", 100, 0.05), ("c", 100, 0)], [("a", "b", 64, 0.0001)])
    _, mapper = made(machines, 100)
    with pytest.raises(NoMapError, match="too little memory: for 64 of 100 rows"):
        mapper.map(machines.machines)
    _, mapper = made(machines, 1)
    with pytest.raises(NoMapError, match="2 machines for 1 rows"):
        mapper.map(machines.machines)


def test_segments_of_a_site_have_links_of_their_own():
    """Each machine exchanges over the links of its own segment: at UIUC, Opus and Major are two."""
    machines = paper()
    model, mapper = made(machines, 4800)
    found = mapper.map(machines.machines)
    sites = [each.name.partition(".")[2] for each in found.machines]
    assert sites == sorted(sites, key=sites.index)  # sites are together
    assert model.predict(found).time == max(sum(cost) for cost in model.predict(found).costs)
