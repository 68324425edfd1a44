"""Two services tell what a pair has cost, and keep it over a restart."""

from tests.live.services import script_that_notes, wait_until


def test_a_pair_that_held_and_a_budget(make_pair):
    pair = make_pair(scheme="hold", release_interval="10m")
    pair.a.start()
    with pair.a.client() as a:
        me = a.domain() and a.submit(script_that_notes(pair.folder)).owner
        pair.a.kill()
        pair.a.config["account"] = [{"name": "climate", "users": [me], "max_held_node_hours": 1}]
        pair.start()
        held = a.submit(script_that_notes(pair.folder), nodes=2, pair="p")
        wait_until(lambda: a.job(held).state == "holding" and a.job(held).holds.held_node_seconds >= 2)
        with pair.b.client() as b:
            mate = b.submit(script_that_notes(pair.folder), pair="p")
            wait_until(lambda: b.job(mate).state == "completed" and a.job(held).state == "completed")
            pair.a.restart()
            told = b.explain(mate)
            assert told.mates[0].cost.held == a.job(held).holds.held_node_seconds
            assert (told.mates[0].state, told.job.cost.held) == ("completed", 0)
        [by_user], [by_pair], [by_account] = a.usage(), a.usage("pair", 3600), a.usage("account")
        assert (by_user.name, by_pair.name, by_account.name) == (me, "p", "climate")
        cost = told.mates[0].cost
        assert by_user.cost == by_pair.cost == by_account.cost == cost
        assert (by_account.held_in_a_day, by_account.may_hold_in_a_day) == (cost.held, 3600)
    shown = pair.a.run("efficiency", held.id).stdout
    assert "\nskew        " in shown
    assert "\ncharged     0.00 node-hours\n" in shown
    assert pair.a.run("usage", "--by", "pair").stdout.split()[:1] == ["PAIR"]
    assert not pair.faults()
