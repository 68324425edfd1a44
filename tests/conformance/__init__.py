"""What every `BatchSystem` promises: one set of tests, for each batch system that we have. A new adapter starts here.

To add one:

1. Read `cosched.adapters.batch_system`, and memory.py beside this file: a batch system and its adapter in 250 lines.
2. Write a `World` (worlds.py): how a test submits, deletes and requeues jobs of four nodes, and sees their states. What
   the system cannot do (its nodes cannot break, it has no process to kill) stays NotImplementedError: skipped.
3. Name it in the fixture of conftest.py; a real system has the mark `soak`, and is skipped where it is not installed.
   A double that answers as was recorded (recorded_pbs.py) keeps the adapter tested everywhere.
4. `pytest tests/conformance -k NAME`, with `-m soak` for a real one, until all passes.

Which tests stand for what, in test_promises.py and test_group_promises.py:

    offer               appears_and_is_offered, reported_once, takes_the_place
    hold                waits_on_its_nodes
    start               by_our_word, at_an_instant, cannot_be_started
    yield               lets_the_next_one_run, unless_hastened
    release             ends_by_force
    try                 ends_with_its_patience, try_that_succeeds
    cancel              cancelled_in_each_state, by us and by its user
    requeue             queued_again
    lost nodes          loses_nodes
    restart             next_service (three tests), while_the_service_is_away
    manager down        outlives_the_batch_system
    hook late, slow     while_the_service_is_away: the hook finds nobody; what no hook tells is found by looks, in the
                        tests of cancel
    hook twice          reported_once
    mates               given_one_and_parted, finds_its_mates
    groups              names_its_domains, tried_at_the_same_time, tried_member (two tests)
    jobs without mates  names_no_mate
"""
