"""What every `BatchSystem` promises (`cosched.conformance.adapters`), for each batch system that we have.

memory.py is a batch system and its adapter in 250 lines; worlds.py has the `World` of each. A double that answers as
was recorded (recorded_pbs.py) keeps an adapter tested where its system is not installed.

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
