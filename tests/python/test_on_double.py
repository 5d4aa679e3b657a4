"""Batches on a simulated GPU, whose device memory is the host's (tests/device/cuda_double)."""

import contextlib
import ctypes
import sys
import threading
import types

import numpy
import pytest

import sluice


def content(interface):
    count = int(numpy.prod(interface["shape"]))
    return ctypes.string_at(interface["data"][0], count)


def loader_of_one_slot(raw):
    return sluice.Loader(raw, 4, device="cuda:0", threads=1, timeout=2, ring=sluice.RingOptions(prefetch=1, hold=1))


@contextlib.contextmanager
def default_stream_busy():
    """Keeps the stream busy, like a kernel that reads a batch and has not run yet."""
    module = ctypes.CDLL(sluice._sluice.__file__)
    module.HoldDefaultStream()
    try:
        yield
    finally:
        module.ReleaseDefaultStream()  # a loader waits for the stream when it stops


@contextlib.contextmanager
def own_stream():
    """Yields a stream that the consumer made, and a function that queues a kernel on this stream. The kernel ends when
    the with block ends."""
    module = ctypes.CDLL(sluice._sluice.__file__)
    stream, ended = ctypes.c_void_p(), threading.Event()
    kernel = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(lambda _: ended.wait())
    non_blocking = 1
    assert module.cudaStreamCreateWithFlags(ctypes.byref(stream), non_blocking) == 0
    try:
        yield stream.value, lambda: module.cudaLaunchHostFunc(stream, kernel, None)
    finally:
        ended.set()
        module.cudaStreamSynchronize(stream)


class DlpackTensor:
    """Takes over a capsule as a framework does: any thread may call delete(), without the GIL."""

    def __init__(self, capsule):
        api = ctypes.pythonapi
        api.PyCapsule_GetPointer.restype = ctypes.c_void_p
        api.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
        api.PyCapsule_SetName.argtypes = [ctypes.py_object, ctypes.c_char_p]
        self.tensor = api.PyCapsule_GetPointer(capsule, b"dltensor")
        self.data = ctypes.c_void_p.from_address(self.tensor).value
        self.taken = b"used_dltensor"  # a capsule does not copy its name
        api.PyCapsule_SetName(capsule, self.taken)
        self.capsule = capsule

    def delete(self):
        deleter = ctypes.c_void_p.from_address(self.tensor + 56).value  # the deleter follows DLTensor and manager_ctx
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(deleter)(self.tensor)


def count_batches(batches):
    """The number of batches; None if one did not come within the loader's timeout."""
    try:
        return sum(1 for _ in batches)
    except sluice.Error as error:
        assert "no batch came" in str(error)
        return None


def test_a_consumer_of_cuda_array_interface_keeps_its_batch_until_its_queued_work_is_done(raw):
    batches = iter(loader_of_one_slot(raw))
    batch = next(batches)
    batch.synchronize()  # this thread reads it below
    interface = batch["image"].__cuda_array_interface__
    assert interface["stream"] == 1  # the legacy default stream
    with default_stream_busy():
        before = content(interface)
        del batch
        with pytest.raises(sluice.Error, match="no batch came"):
            for _ in batches:  # the slot that is still being read is not reused
                assert content(interface) == before
        assert content(interface) == before


@pytest.mark.parametrize("stream", [None, 1])
def test_a_tensor_by_dlpack_keeps_its_batch_until_the_work_on_its_stream_is_done(raw, stream):
    loader = loader_of_one_slot(raw)
    batches = iter(loader)
    batch = next(batches)
    image = batch["image"]
    assert (image.device, image.__dlpack_device__()) == ("cuda:0", (2, 0))
    tensor = DlpackTensor(image.__dlpack__(stream=stream))
    del batch, image  # without a __cuda_array_interface__, which would make the loader wait for the default stream
    with default_stream_busy():
        tensor.delete()
        assert count_batches(batches) is None


@pytest.mark.parametrize("names", ["wait_on", "dlpack", "neither"])
def test_work_on_a_stream_of_the_consumer_keeps_a_batch_if_the_loader_knows_the_stream(raw, names):
    loader = loader_of_one_slot(raw)
    batches = iter(loader)
    batch = next(batches)
    batch.synchronize()
    with own_stream() as (stream, queue_kernel):
        if names == "wait_on":
            batch.wait_on(stream)
        elif names == "dlpack":
            tensor = DlpackTensor(batch["image"].__dlpack__(stream=stream))
            tensor.delete()
        queue_kernel()
        del batch
        assert count_batches(batches) == (len(loader) - 1 if names == "neither" else None)


def test_the_loader_does_not_notice_a_consumer_that_only_synchronizes(raw):
    loader = loader_of_one_slot(raw)
    batches = iter(loader)
    batch = next(batches)
    batch.synchronize()
    with default_stream_busy():
        del batch
        assert count_batches(batches) == len(loader) - 1


def test_a_tensor_may_be_released_by_another_thread(raw):
    loader = loader_of_one_slot(raw)
    batches = iter(loader)
    batch = next(batches)
    tensor = DlpackTensor(batch["image"].__dlpack__(stream=1))
    del batch
    thread = threading.Thread(target=tensor.delete)
    thread.start()
    thread.join()
    assert count_batches(batches) == len(loader) - 1


def test_torch_gets_each_field_of_a_batch_on_its_device(raw, monkeypatch):
    """Batch.torch() calls torch.from_dlpack(), which asks for the device and then passes its stream."""
    given = []

    def from_dlpack(array):
        given.append((array.__dlpack_device__(), array.shape))
        return DlpackTensor(array.__dlpack__(stream=1))

    monkeypatch.setitem(sys.modules, "torch", types.SimpleNamespace(from_dlpack=from_dlpack))
    loader = loader_of_one_slot(raw)
    batches = iter(loader)
    batch = next(batches)
    tensors = batch.torch()
    assert ((2, 0), (4, 32, 32, 3)) in given and ((2, 0), (4, 2, 2)) in given and ((2, 0), (4,)) in given
    for name in ("image", "label", "pose"):
        assert tensors[name].data == batch[name].__cuda_array_interface__["data"][0]
        tensors[name].delete()
    del batch, tensors
    assert count_batches(batches) == len(loader) - 1
