"""Small workloads with groups that have slots, and windows, worked out by hand; written as in meet_cases.py."""

from .meet_cases import HOLD, SLOTS_ALONE, URGENT, YIELD, Case, Config

# a1 and b1 are ready at 0. At 10 c1 is: all can start at 120, when b0 ends.
ALL_READY = "a1 (0, 50, 50, 6), a0 (0, 100, {}, 6), b1 (0, 50, 50, 6), b0 (0, {}, 120, 6), c1 (10, 50, 50, 6), "
LATER = "c2 (20, 300, 300, 6), "
KEPT = ALL_READY.format(100, 120) + LATER + "c3 (21, 99, 99, 6)"
WAITED = "a0 0, b0 0, c2 20, a1 320, b1 320, c1 320, c3 370"  # as long as c2 runs

# b1's nodes are free at 80; a1 is ready at 0, c1 at 10.
OFFSET = "a1 (0, 50, 50, 6), b1 (10, 50, 50, 6), c1 (10, 50, 50, 6)"
B_WAITS = "a1 (5, 50, 50, 6), b1 (0, 50, 50, 6), b0 (0, {}, {}, 6), c1 (10, 50, 50, 6)"
A_WAITS = "a1 (0, 50, 50, 6), a0 (0, 100, {}, 6), b1 (0, 50, 50, 6), c1 (10, 50, 50, 6)"

SLOTTED_HOLD: Config = {**HOLD, "slots": True}

CASES = {
    #
    # Slots
    #
    # c3 is to end at the slot, so it starts. c2 has to wait until the group has ended.
    "slot kept": Case(KEPT, "a1-b1-c1", "a0 0, b0 0, c3 21, a1 120, b1 120, c1 120, c2 170"),
    "slot instead of holds": Case(KEPT, "a1-b1-c1", "a0 0, b0 0, c3 21, a1 120, b1 120, c1 120, c2 170", SLOTTED_HOLD),
    "a domain has no slots": Case(KEPT, "a1-b1-c1", WAITED, of={"b": YIELD}),
    # b1 is ready at 120 for the first time. At 20 there is no slot yet, and c2 starts.
    "one has not been ready": Case(
        "a1 (0, 50, 50, 6), a0 (0, 100, 100, 6), b0 (0, 120, 120, 6), b1 (5, 50, 50, 6), "
        "c1 (10, 50, 50, 6), c2 (20, 300, 300, 6), c3 (21, 99, 99, 6)",
        "a1-b1-c1",
        WAITED,
    ),
    # c1 is not a member: "those left out do not count".
    "a domain that does not coschedule": Case(
        "a1 (0, 50, 50, 6), a0 (0, 100, 100, 6), b1 (10, 50, 50, 6), b2 (20, 300, 300, 6), c1 (10, 50, 50, 6)",
        "a1-b1-c1",
        "a0 0, c1 10, a1 100, b1 100, b2 150",
        of={"c": {"scheme": "off"}},
    ),
    # At 60 c1 is ready. a1 fits from 80 to 100, and again when a9 has ended; b1 from 90 on.
    "least common instant": Case(
        "a0 (0, 100, 100, 6), a9 (1, 100, 100, 10), a1 (5, 20, 20, 4), a8 (6, 74, 74, 4), "
        "b1 (0, 20, 20, 4), b0 (0, 90, 90, 10), c1 (60, 20, 20, 4)",
        "a1-b1-c1",
        "a0 0, b0 0, a8 6, a9 100, a1 200, b1 200, c1 200",
        SLOTS_ALONE,
    ),
    # At 50 b's queue stops at b3, so b1 refuses to start. But it delays nobody.
    "agreed on now": Case(
        "a1 (50, 30, 30, 1), a3 (60, 50, 50, 1), b3 (0, 50, 50, 10), b1 (0, 30, 30, 4), b0 (0, 100, 100, 6), "
        "c1 (0, 30, 30, 1)",
        "a1-b1-c1, a3-b3",
        "b0 0, a1 50, b1 50, c1 50, a3 100, b3 100",
        {**SLOTS_ALONE, "backfill": "none"},
    ),
    # b0 ends at 110, and all fit.
    "early": Case(ALL_READY.format(100, 110) + LATER, "a1-b1-c1", "a0 0, b0 0, a1 110, b1 110, c1 110, c2 160"),
    # The slot is at 200. At 100 a0 has ended, a1 fits but b1 does not: the slot moves to 120. So c4 has no time before
    # it.
    "moved": Case(
        ALL_READY.format(200, 120) + LATER + "c4 (105, 80, 80, 6)",
        "a1-b1-c1",
        "a0 0, b0 0, a1 120, b1 120, c1 120, c2 170, c4 470",
    ),
    # The slot is at 300. At 100 a1 still does not fit, but it would at 150. So a4 has no time before it.
    "moved by who does not fit": Case(
        "a1 (0, 50, 50, 6), a0 (0, 100, 300, 5), a8 (0, 150, 150, 5), a4 (20, 80, 80, 5), "
        "b1 (0, 50, 50, 6), c1 (10, 50, 50, 6)",
        "a1-b1-c1",
        "a0 0, a8 0, a1 150, b1 150, c1 150, a4 200",
    ),
    # At 100 a1 fits, b1 does not. c5, which comes before c1, would start now if c1 gave its slot away.
    "never later": Case(
        ALL_READY.format(100, 120) + LATER + "c5 (50, 99, 99, 10)",
        "a1-b1-c1",
        "a0 0, b0 0, a1 120, b1 120, c1 120, c5 170, c2 269",
        of={"c": URGENT},
    ),
    # b1, reserved at 300, keeps b2 from starting. At 50 it gets a slot at 400 instead, when a8 is to end.
    "a slot lets others start": Case(
        "a7 (0, 100, 100, 5), a8 (10, 300, 300, 10), a1 (50, 40, 40, 5), "
        "b1 (0, 100, 100, 8), b0 (0, 300, 300, 6), b2 (20, 350, 350, 4), c1 (0, 10, 10, 1)",
        "a1-b1-c1",
        "a7 0, b0 0, b2 50, a8 100, a1 400, b1 400, c1 400",
    ),
    # At 40 b4 asks a4, which so is wanted. At 45 it is refused out of turn. Its slot may not delay a2.
    "slot behind the first job": Case(
        "a0 (0, 100, 100, 6), a2 (10, 100, 100, 10), a4 (30, 80, 80, 4), a6 (45, 10, 10, 1), "
        "b4 (0, 50, 50, 4), b9 (40, 1, 1, 1), c4 (0, 50, 50, 6), c0 (0, 60, 60, 6)",
        "a4-b4-c4",
        "a0 0, c0 0, b9 40, a6 45, a2 100, a4 200, b4 200, c4 200",
    ),
    # At 20 b1 refuses a1, so c6 is asked for a slot only, at 400. At 52 c4 is the first that is wanted: guard(c2) is
    # 149 + 69. If c6 was wanted at 20, it would be 100 + 45.
    "asked for a slot, not wanted": Case(
        "a1 (20, 10, 10, 1), b1 (0, 10, 10, 10), b0 (0, 400, 400, 1), "
        "c0 (0, 40, 40, 4), c1 (0, 100, 100, 5), c2 (10, 100, 100, 10), c6 (12, 10, 10, 1), c3 (50, 99, 99, 4), "
        "c4 (52, 120, 120, 1), d4 (0, 120, 120, 1)",
        "a1-b1-c6, c4-d4",
        "b0 0, c0 0, c1 0, c3 50, c4 52, d4 52, c2 172, a1 400, b1 400, c6 400",
        of={"c": URGENT},
    ),
    #
    # Offsets and windows
    #
    # At 10 b1 could start, and a1 too. But it is to start 60 s after.
    "offset": Case(OFFSET, "a1-b1@60..60-c1", "a1 10, c1 10, b1 70"),
    "offset of a pair": Case("a1 (0, 50, 50, 6), b1 (10, 50, 50, 6)", "a1-b1@60..60", "a1 10, b1 70"),
    # T is 50, since b1 cannot start before 10.
    "before the others": Case(OFFSET, "a1-b1@-40..-40-c1", "b1 10, a1 50, c1 50"),
    # b1 cannot start before 100, so T is 70.
    "window": Case(B_WAITS.format(100, 100), "a1-b1@-20..30-c1", "b0 0, a1 70, c1 70, b1 100"),
    # b1's slot is at 80. At 40 b0 ends, but a1 and c1 run.
    "fixed": Case(B_WAITS.format(40, 80), "a1-b1@0..100-c1", "b0 0, a1 10, c1 10, b1 80"),
    # T is 200, until a0 ends at 100.
    "offset, moved": Case(A_WAITS.format(200), "a1-b1@30..30-c1", "a0 0, a1 100, c1 100, b1 130"),
    # T is 270. At 100 b1 still does not fit, but it would at 150.
    "offset, moved by who does not fit": Case(
        "a1 (5, 50, 50, 6), b1 (0, 50, 50, 6), b0 (0, 100, 300, 5), b8 (0, 150, 150, 5), c1 (10, 50, 50, 6)",
        "a1-b1@30..30-c1",
        "b0 0, b8 0, a1 120, c1 120, b1 150",
    ),
    # T is 120. At 100 it could be 100, if c1 gave way to c5 and started at 199.
    "no member later": Case(
        A_WAITS.format(120) + ", c5 (50, 99, 99, 10)",
        "a1-b1-c1@0..100",
        "a0 0, a1 120, b1 120, c1 120, c5 170",
        of={"c": URGENT},
    ),
    #
    # Given instants
    #
    "given instant": Case(OFFSET, "a1-b1-c1 at 100", "a1 100, b1 100, c1 100"),
    "given instant of a pair": Case("a1 (0, 50, 50, 6), b1 (10, 50, 50, 6)", "a1-b1 at 100", "a1 100, b1 100"),
    # b1 cannot start before 120, which its window still allows.
    "given instant, window": Case(B_WAITS.format(120, 120), "a1-b1@0..30-c1 at 100", "b0 0, a1 100, c1 100, b1 120"),
    # b1 cannot start before 120. At 101 the instant has passed, and their owner decides; c2 starts when c1 gives way.
    "given instant, passed": Case(
        B_WAITS.format(120, 120) + ", c2 (20, 50, 50, 8)",
        "a1-b1-c1 at 100",
        "b0 0, c2 20, a1 never, b1 never, c1 never",
    ),
    # The slot of all is at 100. b0 ends at 40, and nobody starts earlier.
    "given instant, never early": Case(B_WAITS.format(40, 80), "a1-b1-c1 at 100", "b0 0, a1 100, b1 100, c1 100"),
    # At 5 a0's end is expected at 200. At 30 a0 has ended, and all have a slot at once.
    "given instant, later possible": Case(
        "a0 (0, 30, 200, 6), a1 (0, 50, 50, 6), b1 (5, 50, 50, 6), c1 (5, 50, 50, 6)",
        "a1-b1-c1 at 100",
        "a0 0, a1 100, b1 100, c1 100",
    ),
}
