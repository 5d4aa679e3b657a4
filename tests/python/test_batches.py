"""A batch's fields: their values, and how numpy, DLPack, jax and memoryview read them without a copy."""

import gc
import os
import subprocess
import weakref

import numpy
import pytest
import sluice
from conftest import SIDE, boxes, caption, picture

SEQUENTIAL = sluice.OrderOptions(shuffle=sluice.Shuffle.SEQUENTIAL)


def test_fields_are_read_as_they_were_written(raw):
    numbers = []
    for batch in sluice.Loader(raw, 8, order=SEQUENTIAL):
        images, labels = numpy.asarray(batch["image"]), batch["label"].numpy()
        assert images.shape == (len(batch), SIDE, SIDE, 3) and images.dtype == numpy.uint8
        for row, number in enumerate(batch.samples):
            assert (images[row] == picture(number)).all()
            assert labels[row] == number % 3
            assert (batch["pose"].numpy()[row] == number / 4).all()
            assert (batch["boxes"][row] == boxes(number)).all()
            assert batch["boxes"][row].shape == (number % 3, 4)
            assert batch["caption"][row] == caption(number)
            assert batch.has("caption", row) == (caption(number) is not None)
        numbers += batch.samples.tolist()
    assert numbers == list(range(50))


def test_a_batch_has_its_fields_by_name(raw):
    batch = next(iter(sluice.Loader(raw, 8)))
    assert batch.keys()[0] == "image"
    assert sorted(batch.keys()) == sorted(dict(batch)) == ["boxes", "caption", "image", "label", "pose"]
    with pytest.raises(TypeError, match=r"take its fields by name, batch\['image'\], batch\['label'\]"):
        images, labels, *_ = batch
    assert "pose" in batch and "depth" not in batch
    assert (len(batch), batch.valid, batch.epoch, batch.index) == (8, 8, 0, 0)
    assert batch.flags.tolist() == [int(sluice.SampleFlag.OWN)] * 8
    with pytest.raises(KeyError, match="depth"):
        batch["depth"]
    with pytest.raises(IndexError):
        batch["boxes"][8]
    assert repr(batch["image"]) == f"Array((8, {SIDE}, {SIDE}, 3), uint8, cpu)"


def test_an_image_is_not_copied_and_outlives_its_batch_and_loader(raw):
    loader = sluice.Loader(raw, 8, order=SEQUENTIAL)
    batch = next(iter(loader))
    address = batch["image"].__array_interface__["data"][0]
    view = batch["image"].numpy()
    assert view.__array_interface__["data"][0] == address
    with memoryview(batch["image"]) as buffer:
        assert (buffer.shape, buffer.format, buffer.strides[0]) == ((8, SIDE, SIDE, 3), "B", SIDE * SIDE * 3)
        assert numpy.asarray(buffer).__array_interface__["data"][0] == address
    assert numpy.from_dlpack(batch["image"]).__array_interface__["data"][0] == address
    del batch
    loader.close()
    del loader
    gc.collect()
    assert (view[3] == picture(3)).all()


def test_ragged_fields_give_all_values_and_offsets(raw):
    batch = next(iter(sluice.Loader(raw, 10, order=SEQUENTIAL)))
    field = batch["boxes"]
    assert len(field) == 10
    offsets = field.offsets.numpy()
    assert offsets.dtype == numpy.int64
    assert offsets.tolist() == numpy.cumsum([0] + [n % 3 for n in range(10)]).tolist()
    assert (field.values.numpy() == numpy.concatenate([boxes(n) for n in range(10)])).all()


def test_the_dlpack_capsule_has_a_version_that_the_caller_accepts(raw):
    image = next(iter(sluice.Loader(raw, 8)))["image"]
    assert '"dltensor"' in repr(image.__dlpack__())
    assert '"dltensor"' in repr(image.__dlpack__(max_version=(0, 8)))
    assert '"dltensor_versioned"' in repr(image.__dlpack__(max_version=(1, 0)))
    assert image.__dlpack_device__() == (1, 0)
    with pytest.raises(BufferError):
        image.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError):
        image.__dlpack__(copy=True)
    with pytest.raises(AttributeError):
        image.__cuda_array_interface__


def test_keeping_too_many_batches_is_an_error_that_names_the_option_of_the_ring(raw):
    loader = sluice.Loader(raw, 4, ring=sluice.RingOptions(prefetch=1, hold=2))
    kept = []
    with pytest.raises(sluice.Error, match="ring=sluice.RingOptions") as raised:
        for batch in loader:
            kept.append(batch)
    assert raised.value.code == "state" and len(kept) >= 3
    kept.clear()
    del batch
    assert sum(len(batch) for batch in loader) == 50


def test_half_floats_and_layouts_reach_the_batch(raw):
    half = sluice.Normalize(type=sluice.FloatType.FLOAT16)
    nchw = sluice.OutputOptions(layout=sluice.Layout.NCHW, fields=["image"])
    batch = next(iter(sluice.Loader(raw, 4, transform=[half], output=nchw, order=SEQUENTIAL)))
    images = batch["image"].numpy()
    assert images.dtype == numpy.float16 and images.shape == (4, 3, SIDE, SIDE)
    expected = (picture(2).transpose(2, 0, 1) / 255).astype(numpy.float16)
    assert numpy.abs(images[2] - expected).max() < 1e-3
    bfloat = sluice.Normalize(type=sluice.FloatType.BFLOAT16)
    batch = next(iter(sluice.Loader(raw, 4, transform=[bfloat])))
    with pytest.raises(sluice.Error, match="bfloat16"):
        batch["image"].numpy()


def test_batches_equal_those_of_cpp_to_the_byte(jpeg):
    text = "rrc:48,flip,jitter:0.4/0.4/0.4/0.1@0.8"
    steps = [
        sluice.RandomResizedCrop(48),
        sluice.HorizontalFlip(),
        sluice.ColorJitter(0.4, 0.4, 0.4, 0.1, p=0.8),
    ]
    played = subprocess.run(
        [os.environ["SLUICE_PLAY_BATCHES"], jpeg, text, "16", "3"], check=True, stdout=subprocess.PIPE
    ).stdout
    for transform in text, steps:
        bytes_of = bytearray()
        for batch in sluice.Loader(jpeg, 16, threads=3, transform=transform, seed=3).epoch(2):
            bytes_of += batch["image"].numpy().tobytes() + batch["label"].numpy().tobytes()
        assert bytes_of == played


def test_an_array_does_not_keep_the_python_objects_of_its_loader_and_batch_alive(raw):
    loader = sluice.Loader(raw, 8)
    batch = next(iter(loader))
    loader_gone, batch_gone = weakref.ref(loader), weakref.ref(batch)
    array = batch["image"].numpy()
    del loader, batch
    gc.collect()
    assert loader_gone() is None and batch_gone() is None
    assert array.sum() > 0


def test_jax_accepts_arrays_by_dlpack(raw):
    jax = pytest.importorskip("jax")
    batch = next(iter(sluice.Loader(raw, 8, order=SEQUENTIAL)))
    image = jax.dlpack.from_dlpack(batch["image"])
    assert image.shape == (8, SIDE, SIDE, 3) and (numpy.asarray(image)[3] == picture(3)).all()
    assert image.unsafe_buffer_pointer() == batch["image"].__array_interface__["data"][0]


def test_a_ragged_field_is_padded_to_its_longest_entry(raw):
    for batch in sluice.Loader(raw, 10):
        values, counts = batch["boxes"].padded(fill=-1)
        assert values.dtype == "float32" and values.shape == (10, max(counts), 4)
        for row, number in enumerate(batch.samples):
            assert counts[row] == number % 3 and (values[row, : counts[row]] == boxes(number)).all()
            assert (values[row, counts[row] :] == -1).all()
        assert batch["boxes"].padded(at_least=9)[0].shape == (10, 9, 4)


def test_images_of_different_sizes_are_a_list_or_padded(tmp_path):
    shapes = [(3 + i % 4, 5 + i % 3) for i in range(12)]
    images = [numpy.full((*shape, 3), 1 + i, numpy.uint8) for i, shape in enumerate(shapes)]
    with sluice.Writer(tmp_path / "sizes", [sluice.Field.image()], image="raw") as writer:
        for i, image in enumerate(images):
            writer.add(str(i), {"image": image})
    with pytest.raises(sluice.Error, match="OutputOptions.image_sizes="):
        sluice.Loader(tmp_path / "sizes", 5)
    own = sluice.OutputOptions(image_sizes=sluice.ImageSizes.OWN)
    for batch in sluice.Loader(tmp_path / "sizes", 5, output=own):
        arrays = batch.numpy()["image"]
        assert batch.sizes() == [shapes[sample] for sample in batch.samples]
        for sample, array, given in zip(batch.samples, arrays, batch["image"]):
            assert numpy.array_equal(array, images[sample])
            assert numpy.array_equal(numpy.from_dlpack(given), images[sample])
    seen = []

    def note(batch):
        for row in range(len(batch)):
            batch.image_of(row)[0, 0] = 255
        seen.append(len(batch))

    padded = sluice.OutputOptions(image_sizes=sluice.ImageSizes.PADDED)
    for batch in sluice.Loader(tmp_path / "sizes", 5, output=padded, batch_function=note):
        array = batch.numpy()["image"]
        sizes = batch.sizes("image")
        assert array.shape[1:3] == (max(h for h, _ in sizes), max(w for _, w in sizes))
        for sample, image, (height, width) in zip(batch.samples, array, sizes):
            own_part = images[sample].copy()
            own_part[0, 0] = 255
            assert numpy.array_equal(image[:height, :width], own_part)
            assert not image[height:].any() and not image[:, width:].any()
    assert sum(seen) >= 12


def test_an_array_compares_by_element_and_leaves_the_rest_to_numpy(raw):
    batch = next(iter(sluice.Loader(raw, 8, order=SEQUENTIAL)))
    label = batch["label"]
    wanted = numpy.arange(8) % 3
    for equal in (label == wanted, wanted == label, label == batch["label"]):
        assert equal.all() and equal.shape == (8,)
    assert (label == 1).tolist() == (wanted == 1).tolist()
    assert (label != 1).tolist() == (wanted != 1).tolist()
    assert not (label != wanted).any()
    assert hash(label) == hash(label)
    for use in (bool, iter, lambda array: array[0]):
        with pytest.raises(TypeError, match=r"use \.numpy\(\) or \.torch\(\)"):
            use(label)
    for compare in (lambda ragged: ragged == 1, lambda ragged: ragged != ragged):
        with pytest.raises(TypeError, match="a Ragged field cannot be compared"):
            compare(batch["boxes"])


@pytest.mark.parametrize("rows", [8, 5000], ids=["small", "large"])  # 5000 boxes take more than 64 KiB
def test_what_is_written_to_a_field_stays(tmp_path, rows):
    fields = [sluice.Field.label(), sluice.Field.array("box", "float32", (4,)), sluice.Field.variable("list", "int32")]
    with sluice.Writer(tmp_path / "made", fields) as writer:
        for number in range(rows):
            writer.add(str(number), {"label": number % 7, "box": [number] * 4, "list": [number] * 5})
    batch = next(iter(sluice.Loader(tmp_path / "made", rows, order=SEQUENTIAL)))
    read = [lambda array: array.numpy(), numpy.asarray, memoryview, numpy.from_dlpack]
    for name, array in ("label", lambda: batch["label"]), ("box", lambda: batch["box"]), ("list", lambda: batch["list"].values):
        for value, write in enumerate(read[:3], 100):
            numpy.asarray(write(array()))[...] = value
            for again in read:
                assert (numpy.asarray(again(array())) == value).all(), name
    batch["list"][3][...] = 55
    assert (batch["list"][3] == 55).all() and (batch["list"].values.numpy()[15:20] == 55).all()
    assert batch["list"].padded()[0][3].tolist() == [55] * 5
    batch.samples[2], batch.flags[2] = 77, 1
    assert batch.samples[:4].tolist() == [0, 1, 77, 3] and batch.flags[:4].tolist() == [0, 0, 1, 0]


def test_an_array_of_a_small_field_outlives_its_batch_and_keeps_no_slot(raw):
    loader = sluice.Loader(raw, 4, ring=sluice.RingOptions(prefetch=1, hold=1), order=SEQUENTIAL)
    labels = [numpy.asarray(batch["label"]) for batch in loader]
    assert numpy.concatenate(labels).tolist() == [number % 3 for number in range(50)]


def test_the_samples_that_a_batch_function_sees_cannot_be_changed(raw):
    def change(batch):
        batch.samples[0] = 3

    with pytest.raises(sluice.Error, match="read-only"):
        list(sluice.Loader(raw, 4, batch_function=change))
