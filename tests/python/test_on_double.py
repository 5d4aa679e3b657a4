"""Batches on a simulated GPU, whose device memory is the host's (tests/device/cuda_double)."""

import ctypes

import numpy
import pytest

import sluice


def content(interface):
    count = int(numpy.prod(interface["shape"]))
    return ctypes.string_at(interface["data"][0], count)


def test_a_consumer_of_cuda_array_interface_keeps_its_batch_until_its_queued_work_is_done(raw):
    default_stream = ctypes.CDLL(sluice._sluice.__file__)
    loader = sluice.Loader(raw, 4, device="cuda:0", threads=1, timeout=2,
                           ring=sluice.RingOptions(prefetch=1, hold=1))
    batches = iter(loader)
    batch = next(batches)
    batch.synchronize()  # this thread reads it below
    interface = batch["image"].__cuda_array_interface__
    assert interface["stream"] == 1  # the legacy default stream
    default_stream.HoldDefaultStream()  # as a kernel that reads the batch and has not run yet
    before = content(interface)
    del batch
    try:
        with pytest.raises(sluice.Error, match="no batch came"):
            for _ in batches:  # the slot that is still read does not come back
                assert content(interface) == before
        assert content(interface) == before
    finally:
        default_stream.ReleaseDefaultStream()  # the loader waits for it when it stops
