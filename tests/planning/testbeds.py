"""Grids for tests: the paper's testbed, small ones by hand, and random ones."""

import random

from cosched.planning.grid import Grid, Machine

CIRCUS = ("dralion", "mystere", "soleil", "quidam", "saltimbanco", "nouba")
LAN, UCSD_UIUC, UTK = 70.0, 6.0, 0.8  # Mb/s, assumed; the paper's figure 3 is not in our copy


def paper(memory_share: float = 0.9, utk: float = UTK) -> Grid:
    """Table 1 of Dail et al. 2002, with nothing else running: 6, 8 and 10 machines at UCSD, UTK and UIUC."""
    machines = [(f"{name}.ucsd.edu", "ucsd", 450 if name in ("dralion", "nouba") else 400, 256) for name in CIRCUS]
    machines += [(f"torc{n}.cs.utk.edu", "utk", 550, 512) for n in range(1, 9)]
    machines += [(f"opus{n}-m.cs.uiuc.edu", "opus", 450, 256) for n in range(13, 17)]
    machines += [(f"{n}major.cs.uiuc.edu", "major", 266, 128) for n in "abcfgh"]
    segments = {"ucsd": "ucsd", "utk": "utk", "opus": "uiuc", "major": "uiuc"}
    bandwidth, latency = {}, {}
    for one, site in segments.items():
        for other, other_site in segments.items():
            far = UCSD_UIUC if {site, other_site} == {"ucsd", "uiuc"} else utk
            bandwidth[one, other] = LAN if site == other_site else far
            latency[one, other] = 0.0005 if site == other_site else 0.035
    made = [Machine(name, segment, speed, 1.0, memory_share * memory) for name, segment, speed, memory in machines]
    return Grid(made, [bandwidth], [latency])


def grid(machines, links=()) -> Grid:
    """Machines as (name, speed, memory), which are segments of their own, and links as (one, other, Mb/s, s)."""
    made = [Machine(name, name, speed, 1.0, memory) for name, speed, memory in machines]
    both = [(pair, *values) for one, other, *values in links for pair in ((one, other), (other, one))]
    return Grid(made, [{pair: mbits for pair, mbits, _ in both}], [{pair: s for pair, _, s in both}])


def drawn(seed, machines=7, sites=3, size=60, *, by_machine=False, alike=False) -> Grid:
    """Random machines at random sites, whose memory is scarce for N = `size`, with links by site or by machine.

    `alike`: all links are equal.
    """
    draw = random.Random(seed)
    whole = 9.6 * size * size / (1 << 20)
    made = []
    for number in range(machines):
        site = draw.randrange(sites)
        cpu = draw.choice((0, 0.33, 0.5, 1, 1, 1, draw.uniform(0.2, 1)))
        memory = draw.choice((0.001, 0.2, 0.4, 0.6, 2)) * whole
        made.append(Machine(f"m{number}.s{site}", f"s{site}", draw.choice((266, 400, 450, 450, 550)), cpu, memory))
    ends = [made_one.name for made_one in made] if by_machine else sorted({each.segment for each in made})
    bandwidth, latency = {}, {}
    for one in ends:
        for other in ends:
            if draw.random() < 0.93:
                bandwidth[one, other] = draw.choice((0.2, 1, 10, 60))
                latency[one, other] = draw.choice((0.0001, 0.0005, 0.02))
    if alike:
        bandwidth, latency = (dict.fromkeys(each, min(each.values(), default=0)) for each in (bandwidth, latency))
    return Grid(made, [bandwidth], [latency])
