"""Loader.tee(): the same batches for several loops; and sluice.SharedRows: loaders that take rows from each other."""

import threading

import numpy
import pytest
import sluice

STEPS = "rrc:32,flip"


def loader_of(path, **options):
    return sluice.Loader(path, 16, transform=STEPS, seed=3, **options)


def played(epochs):
    return [[(batch.epoch, batch.index, batch["image"].numpy().copy()) for batch in epoch] for epoch in epochs]


def equal(some, others):
    return len(some) == len(others) and all(
        len(a) == len(b) and all(x[:2] == y[:2] and numpy.array_equal(x[2], y[2]) for x, y in zip(a, b))
        for a, b in zip(some, others))


def run_all(*loops):
    threads = [threading.Thread(target=loop) for loop in loops]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)


@pytest.mark.parametrize("apart", [1, 3])
def test_each_branch_gets_all_batches_of_all_epochs(jpeg, apart):
    wanted = played(loader_of(jpeg).epoch(number) for number in range(3))
    loader = loader_of(jpeg, ring=sluice.RingOptions(hold=apart + 1))
    results = [[], [], []]

    def loop(branch, result):
        for _ in range(3):
            result.extend(played([branch]))

    branches = loader.tee(3, apart=apart)
    run_all(*[lambda b=b, r=r: loop(b, r) for b, r in zip(branches, results)])
    assert all(equal(result, wanted) for result in results)
    assert loader.stats().batches == sum(map(len, wanted))  # the loader played each batch once


def test_a_branch_waits_for_the_slowest_but_not_for_one_whose_loop_was_left(jpeg):
    fast, slow = loader_of(jpeg).tee(2)
    seen, go_on = [], threading.Event()

    def run_fast():
        for batch in fast:
            seen.append(batch.index)

    def run_slow():
        for batch in slow:
            assert go_on.wait(30)
            if batch.index == 1:
                break

    threads = [threading.Thread(target=run_fast), threading.Thread(target=run_slow)]
    for thread in threads:
        thread.start()
    threads[0].join(0.5)
    assert len(seen) <= 2 and threads[0].is_alive()
    go_on.set()
    for thread in threads:
        thread.join(30)
    assert seen == list(range(len(loader_of(jpeg))))


def test_a_branch_that_is_collected_counts_as_ended(jpeg):
    first, second = loader_of(jpeg).tee(2)
    seen = []
    thread = threading.Thread(target=lambda: seen.extend(batch.index for batch in first), daemon=True)
    thread.start()
    thread.join(0.5)
    assert thread.is_alive()  # it waits for the other branch, which has not begun
    del second
    thread.join(30)
    assert seen == list(range(len(loader_of(jpeg))))


def test_closing_the_loader_ends_a_branch_that_waits_for_another(jpeg):
    loader = loader_of(jpeg)
    first, second = loader.tee(2)
    raised = []

    def loop():
        try:
            for _ in first:
                pass
        except sluice.Error as error:
            raised.append(str(error))

    thread = threading.Thread(target=loop, daemon=True)
    thread.start()
    thread.join(0.5)
    assert thread.is_alive()
    loader.close()
    thread.join(30)
    assert raised and "closed" in raised[0]


def test_every_branch_gets_the_error_after_the_batches_before_it(jpeg):
    def fail(sample):
        if sample.index == 30:
            raise ValueError("a faulty one")

    order = sluice.OrderOptions(shuffle="sequential")
    loader = sluice.Loader(jpeg, 16, transform="crc:32", order=order, sample_function=fail)
    batches_before = []

    def loop(branch):
        count = 0
        with pytest.raises(Exception, match="a faulty one"):
            for _ in branch:
                count += 1
        batches_before.append(count)

    run_all(*[lambda b=b: loop(b) for b in loader.tee(2)])
    assert batches_before == [1, 1]


def test_zero_branches_and_zero_batches_apart_are_refused(jpeg):
    with pytest.raises(ValueError, match="at least 1; they are 0 and 1"):
        loader_of(jpeg).tee(0)
    with pytest.raises(ValueError, match="at least 1; they are 2 and 0"):
        loader_of(jpeg).tee(2, apart=0)


def test_the_timeout_of_the_loader_ends_the_wait_for_another_branch(jpeg):
    first, second = loader_of(jpeg, timeout=0.3).tee(2)
    playing = iter(first)
    assert next(playing).index == 0
    with pytest.raises(sluice.Error, match=r"within 0.3 s \(timeout\): another branch of tee\(\) has not taken") as raised:
        next(playing)
    assert (raised.value.code, raised.value.file, raised.value.place) == ("input/output", "", "")
    assert [batch.index for batch in second] == list(range(len(loader_of(jpeg))))


def test_too_many_branches_are_refused(jpeg):
    assert len(loader_of(jpeg).tee(1024)) == 1024
    with pytest.raises(ValueError, match="at most 1024 branches are possible, not 1000000000"):
        loader_of(jpeg).tee(10**9)


def test_loaders_that_share_rows_take_them_from_each_other(jpeg, tmp_path):
    share = sluice.SharedRows(10_000_000, folder=str(tmp_path))
    first, second = loader_of(jpeg, share=share), loader_of(jpeg, share=share)
    wanted = played(loader_of(jpeg).epoch(number) for number in range(2))
    results = [[], []]
    run_all(*[lambda l=l, r=r: r.extend(played(l.epoch(number) for number in range(2)))
              for l, r in zip((first, second), results)])
    assert all(equal(result, wanted) for result in results)
    assert first.stats().taken_rows + second.stats().taken_rows > 0
    assert first.memory()["shared"] == 10_000_000
    assert share.bytes == 10_000_000 and share.folder == str(tmp_path)
