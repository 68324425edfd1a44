"""A domain that starts again with fewer nodes than it had."""

from tests.live.services import script_that_notes, script_that_waits, wait_until


def test_jobs_that_do_not_fit_any_more_are_cancelled_and_the_others_go_on(make_pair):
    service = make_pair().a.start()
    go = service.folder / "go"
    with service.client() as client:
        running = client.submit(script_that_waits(service.folder, go), nodes=4)
        wait_until(lambda: client.job(running).state == "running")
        small, large = (client.submit(script_that_notes(service.folder), nodes=nodes) for nodes in (2, 4))
    service.kill()
    service.config["manager"]["slots"] = 2
    service.start()
    with service.client() as client:
        assert client.job(large).state == "cancelled"
        assert client.job(small).state == "queued"
        go.touch()
        wait_until(lambda: client.job(small).state == "completed")
        assert client.job(running).state == "completed"
    assert "larger than the machine" in service.run("show", large.id).stdout
