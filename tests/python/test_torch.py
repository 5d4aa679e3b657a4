"""sluice.torch and Batch.torch(): tensors, DataLoader, states and ranks."""

import copy
import itertools
import pickle
import warnings

import numpy
import pytest
import sluice

torch = pytest.importorskip("torch")
import sluice.torch  # noqa: E402


def test_tensors_are_not_copied_and_labels_are_int64(raw):
    batch = next(iter(sluice.Loader(raw, 8)))
    tensors = batch.torch()
    assert tensors["image"].data_ptr() == batch["image"].__array_interface__["data"][0]
    assert tensors["label"].dtype == torch.int64 and tensors["pose"].dtype == torch.float64
    assert (tensors["boxes"].values.torch() == torch.from_dlpack(batch["boxes"].values)).all()
    loss = torch.nn.functional.cross_entropy(torch.zeros(8, 3), tensors["label"])
    assert loss.item() == pytest.approx(1.0986, abs=1e-3)


def test_a_tensor_outlives_batch_and_loader(raw):
    loader = sluice.Loader(raw, 8)
    image = next(iter(loader))["image"].torch()
    total = image.sum().item()
    loader.close()
    del loader
    assert image.sum().item() == total


def test_a_dataloader_plays_the_dataset(raw):
    dataset = sluice.torch.IterableDataset(raw, 8, seed=2)
    loader = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=0)
    first = [batch["label"] for batch in loader]
    second = [batch["label"] for batch in loader]
    assert len(loader) == 7 and sum(map(len, first)) == 50
    assert not torch.equal(torch.cat(first), torch.cat(second))
    dataset.set_epoch(0)
    assert torch.equal(torch.cat([batch["label"] for batch in loader]), torch.cat(first))


def test_only_a_dataloader_that_adds_a_dimension_gives_a_warning(jpeg):
    dataset = sluice.torch.IterableDataset(jpeg, 8)
    with pytest.warns(UserWarning, match="give it batch_size=None"):
        next(iter(torch.utils.data.DataLoader(dataset)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        next(iter(torch.utils.data.DataLoader(dataset, batch_size=None)))
        next(iter(dataset))


def test_torchs_initial_seed_can_be_passed_as_the_seed(raw):
    torch.manual_seed(7)
    seeded = sluice.Loader(raw, 50, transform="rrc:16", seed=torch.initial_seed())
    by_number = sluice.Loader(raw, 50, transform="rrc:16", seed=7)
    assert (next(iter(seeded))["image"].numpy() == next(iter(by_number))["image"].numpy()).all()


def test_worker_processes_are_refused(raw):
    dataset = sluice.torch.IterableDataset(raw, 8)
    loader = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=1,
                                         multiprocessing_context="fork")
    with pytest.raises(RuntimeError, match="num_workers=0"):
        next(iter(loader))


def test_a_stateful_dataloader_resumes_from_its_state(raw):
    stateful = pytest.importorskip("torchdata.stateful_dataloader")

    def make():
        dataset = sluice.torch.IterableDataset(raw, 8, seed=2)
        return stateful.StatefulDataLoader(dataset, batch_size=None, num_workers=0)

    loader = make()
    iterator = iter(loader)
    for _ in range(3):
        next(iterator)
    state = loader.state_dict()
    rest = [batch["label"] for batch in iterator]
    again = make()
    again.load_state_dict(state)
    assert torch.equal(torch.cat([batch["label"] for batch in again]), torch.cat(rest))


def test_images_of_different_sizes_are_a_list_of_tensors(tmp_path):
    with sluice.Writer(tmp_path / "sizes", [sluice.Field.image()], image="raw") as writer:
        for i in range(6):
            writer.add(str(i), {"image": numpy.full((4 + i, 7, 3), i, numpy.uint8)})
    output = sluice.OutputOptions(image_sizes=sluice.ImageSizes.OWN, layout=sluice.Layout.NCHW)
    for batch in sluice.Loader(tmp_path / "sizes", 4, output=output):
        for sample, tensor in zip(batch.samples, batch.torch()["image"]):
            assert tensor.shape == (3, 4 + sample, 7) and (tensor == sample).all()


def test_a_state_between_the_last_batch_and_the_end_plays_no_epoch_twice(raw):
    dataset = sluice.torch.IterableDataset(raw, 8, seed=2)
    iterator = iter(dataset)
    for _ in range(len(dataset)):
        next(iterator)
    state = dataset.state_dict()
    again = sluice.torch.IterableDataset(raw, 8, seed=2)
    again.load_state_dict(state)
    assert again.state_dict() == state
    assert list(again) == []
    assert next(iterator, None) is None
    for one in (dataset, again):
        assert "ended" not in one.state_dict()
    assert torch.equal(next(iter(again))["label"], next(iter(dataset))["label"])
    # A requested epoch is played from its beginning.
    again.load_state_dict(state)
    again.set_epoch(1)
    assert sum(1 for _ in again) == len(again)


def test_an_invalid_state_is_refused_and_the_dataset_continues(raw):
    dataset = sluice.torch.IterableDataset(raw, 8)
    with pytest.raises(ValueError, match="not a state"):
        dataset.load_state_dict({"x": 1})
    with pytest.raises(sluice.Error):
        dataset.load_state_dict({"sluice": "rubbish"})
    assert sum(1 for _ in dataset) == len(dataset)


RANKS = """
import sys, torch, sluice, sluice.torch
rank, store, data = int(sys.argv[1]), sys.argv[2], sys.argv[3]
before = sluice.torch.IterableDataset(data, 8, seed=2, ranks=sluice.RankOptions(last_batch=sluice.LastBatch.DROP))
if len(sys.argv) > 4:
    for use in before.__len__, lambda: next(iter(before)), before.__len__:
        try:
            use()
            raise AssertionError("it plays alone")
        except sluice.Error as error:
            assert "WORLD_SIZE=2, but not RANK" in str(error)
else:
    assert len(before) == 6
torch.distributed.init_process_group("gloo", f"file://{store}", rank=rank, world_size=2)
print(*(int(sample) for batch in before for sample in batch["pose"][:, 0, 0] * 4))
torch.distributed.destroy_process_group()
assert before.loader.stats().samples == 24
"""


@pytest.mark.parametrize("launcher", [{}, {"WORLD_SIZE": "2"}], ids=["none", "one that sets WORLD_SIZE alone"])
def test_ranks_come_from_a_group_that_is_made_after_the_dataset(raw, tmp_path, launcher):
    import os
    import subprocess
    import sys

    script = tmp_path / "rank.py"
    script.write_text(RANKS)
    environment = {name: value for name, value in os.environ.items() if name not in ("RANK", "WORLD_SIZE")}
    both = [subprocess.Popen([sys.executable, script, str(rank), tmp_path / "store", raw, *launcher],
                             env={**environment, **launcher},
                             stdout=subprocess.PIPE, text=True) for rank in range(2)]
    # The last line: some versions of gloo print one before it.
    shares = [set(one.communicate(timeout=300)[0].splitlines()[-1].split()) for one in both]
    assert [one.returncode for one in both] == [0, 0]
    assert len(shares[0]) == len(shares[1]) == 24 and not shares[0] & shares[1]


def test_tensors_and_arrays_of_a_small_field_share_their_memory(raw):
    batch = next(iter(sluice.Loader(raw, 8)))
    batch.torch()["pose"][3] = 7
    assert (batch["pose"].numpy()[3] == 7).all()
    batch["label"].numpy()[...] = 2
    assert batch["label"].torch().tolist() == batch.torch()["label"].tolist() == [2] * 8


def test_a_misspelt_attribute_of_the_dataset_is_refused(raw):
    dataset = sluice.torch.IterableDataset(raw, 8)
    with pytest.raises(AttributeError, match=r"no attribute 'transform' to set; .* IterableDataset\(\.\.\., transform=\.\.\.\)"):
        dataset.transform = None
    with pytest.raises(AttributeError, match=r"'batchsize' .*batch_size="):
        dataset.batchsize = 3
    with pytest.raises(AttributeError, match=r"'batch_size' to set; .*batch_size="):
        dataset.batch_size = 3
    with pytest.raises(AttributeError, match="no attribute 'something_else' to set$"):
        dataset.something_else = 3


def test_the_type_of_numbers_equals_torchs(raw):
    dtype = next(iter(sluice.Loader(raw, 4)))["image"].dtype
    assert dtype == torch.uint8 and dtype != torch.int8


def numbers(batches):
    return [batch["samples"].tolist() for batch in batches]


def test_a_copy_of_the_dataset_plays_the_epoch_that_the_dataset_would_play_next(raw):
    def make():
        return sluice.torch.IterableDataset(raw, 8, seed=2, extras=["samples"], transform="center:8")

    dataset, whole = make(), make()
    epochs = [numbers(whole) for _ in range(2)]
    assert numbers(pickle.loads(pickle.dumps(dataset))) == epochs[0]
    for _ in dataset:
        pass
    for copied in pickle.loads(pickle.dumps(dataset)), copy.deepcopy(dataset), copy.copy(dataset):
        assert numbers(copied) == epochs[1]
    resumed, dataset = make(), make()
    iterator = iter(dataset)
    next(iterator), next(iterator)
    resumed.load_state_dict(dataset.state_dict())
    assert numbers(pickle.loads(pickle.dumps(resumed))) == epochs[0][2:]


def test_a_photometric_distortion_gives_torchvisions_pixels(raw):
    functional = pytest.importorskip("torchvision.transforms.v2.functional")
    image_module = pytest.importorskip("PIL.Image")
    step = sluice.RandomPhotometricDistort((1.2, 1.2), (0.7, 0.7), (1.5, 1.5), (0.1, 0.1), p=1)
    assert sluice.RandomPhotometricDistort().p == 0.5
    order = sluice.OrderOptions(shuffle="sequential")
    plain = torch.cat([batch.torch()["image"] for batch in sluice.Loader(raw, 10, order=order)])
    distorted = torch.cat([batch.torch()["image"] for batch in sluice.Loader(raw, 10, order=order, transform=[step])])

    def contrast(image):
        return functional.adjust_contrast(image_module.fromarray(numpy.asarray(image)), 0.7)

    def coloured(image):
        image = functional.pil_to_tensor(functional.adjust_saturation(image, 1.5))
        turned = functional.adjust_hue(image.float() / 255, 0.1)  # Pillow would round the hue
        return (turned * 255).round().to(torch.uint8).permute(1, 2, 0)

    orders, seen = set(itertools.permutations(range(3))), set()
    for before, after in zip(plain, distorted):
        bright = functional.adjust_brightness(image_module.fromarray(before.numpy()), 1.2)
        wholes = coloured(contrast(bright)), torch.from_numpy(numpy.array(contrast(coloured(bright))))
        fitting = {(which, channels) for which, whole in enumerate(wholes) for channels in orders
                   if (whole[..., channels].int() - after.int()).abs().max() <= 1}
        assert fitting
        seen |= fitting
    assert {which for which, _ in seen} == {0, 1} and {channels for _, channels in seen} == orders


# The same box in each form, in a picture of 40 x 20 pixels.
FIRST = {
    "cxcywh-relative": (0.25, 0.5, 0.5, 0.2), "xywh-relative": (0, 0.4, 0.5, 0.2), "xyxy-relative": (0, 0.4, 0.5, 0.6),
    "cxcywh-pixels": (10, 10, 20, 4), "xywh-pixels": (0, 8, 20, 4), "xyxy-pixels": (0, 8, 20, 12),
}


def detection_batch(folder, layout="nhwc", image_sizes="equal", coordinates="cxcywh-relative", second=(0.5, 0.5, 1, 1)):
    fields = [
        sluice.Field.image(),
        sluice.Field.variable("boxes", "float32", (4,), "boxes", "image", coordinates),
        sluice.Field.variable("classes", "int32", (), "label", "image"),
        sluice.Field.variable("crowd", "int32", (), "none", "image"),
        sluice.Field.variable("points", "float32", (2, 3), "keypoints", "image", "xyv-pixels"),
        sluice.Field.array("image_id", "int64"),
        sluice.Field.array("source_size", "int32", (2,)),
    ]
    with sluice.Writer(folder, fields, image="raw") as writer:
        for number in range(3):
            writer.add(str(number), {
                "image": numpy.zeros((20, 40, 3), numpy.uint8),
                "boxes": numpy.array([FIRST[coordinates], second][:number], "float32").reshape(-1, 4),
                "classes": numpy.array([3, 4][:number], "int32"), "crowd": numpy.array([0, 1][:number], "int32"),
                "points": numpy.array([[[4, 5, 2], [0, 0, 0]], [[8, 10, 1], [40, 20, 2]]][:number],
                                      "float32").reshape(-1, 2, 3),
                "image_id": 100 - number, "source_size": [480, 640 + number]})
    loader = sluice.Loader(folder, 3, order=sluice.OrderOptions(shuffle=sluice.Shuffle.SEQUENTIAL),
                           output=sluice.OutputOptions(layout=layout, image_sizes=image_sizes))
    return next(iter(loader))


@pytest.mark.parametrize("layout", ["nhwc", "nchw"])
@pytest.mark.parametrize("image_sizes", ["equal", "own", "padded"])
def test_targets_as_torchvision_takes_them(tmp_path, layout, image_sizes):
    targets = detection_batch(tmp_path / "dataset", layout, image_sizes).targets("torchvision")
    assert [len(target["boxes"]) for target in targets] == [0, 1, 2]
    assert targets[0]["boxes"].shape == (0, 4) and targets[0]["keypoints"].shape == (0, 2, 3)
    last = targets[2]
    assert last["boxes"].tolist() == [[0, 8, 20, 12], [0, 0, 40, 20]] and last["boxes"].dtype == torch.float32
    assert last["labels"].tolist() == [4, 5] and last["labels"].dtype == torch.int64
    assert last["area"].tolist() == [80, 800] and last["iscrowd"].tolist() == [0, 1]
    assert last["keypoints"][1].tolist() == [[8, 10, 1], [40, 20, 2]]
    assert last["image_id"].item() == 98


def test_targets_as_transformers_and_ultralytics_take_them(tmp_path):
    batch = detection_batch(tmp_path / "dataset")
    last = batch.targets("transformers")[2]
    assert torch.allclose(last["boxes"], torch.tensor([[0.25, 0.5, 0.5, 0.2], [0.5, 0.5, 1, 1]]))
    assert last["class_labels"].tolist() == [3, 4] and last["image_id"].tolist() == [98]
    assert last["size"].tolist() == [20, 40] and last["orig_size"].tolist() == [480, 642]
    joined = batch.targets("ultralytics")
    assert joined["batch_idx"].tolist() == [1, 2, 2] and joined["cls"].tolist() == [[3], [3], [4]]
    assert torch.allclose(joined["bboxes"][2], torch.tensor([0.5, 0.5, 1, 1]))
    assert torch.allclose(joined["keypoints"][2, 1], torch.tensor([1.0, 1, 2]))
    assert batch.targets("ultralytics", first_label=7)["cls"].tolist() == [[10], [10], [11]]


@pytest.mark.parametrize("coordinates", FIRST)
def test_targets_know_the_forms_of_boxes(tmp_path, coordinates):
    targets = detection_batch(tmp_path / "dataset", coordinates=coordinates, second=FIRST[coordinates]).targets("torchvision")
    assert torch.allclose(targets[1]["boxes"], torch.tensor([[0.0, 8, 20, 12]]))


def test_shares_are_of_the_padded_tensor(tmp_path):
    fields = [sluice.Field.image(), sluice.Field.variable("boxes", "float32", (4,), "boxes", "image", "xyxy-relative"),
              sluice.Field.variable("kinds", "int32", (), "none", "image"),
              sluice.Field.variable("points", "float32", (1, 2), "keypoints", "image", "xy-relative")]
    with sluice.Writer(tmp_path / "dataset", fields, image="raw") as writer:
        for height in 40, 80:
            writer.add(str(height), image=numpy.zeros((height, 100, 3), numpy.uint8),
                       boxes=numpy.array([[0.2, 0.25, 0.4, 0.75]], "float32"), kinds=numpy.array([5], "int32"),
                       points=numpy.array([[[0.5, 0.5]]], "float32"))
    loader = sluice.Loader(tmp_path / "dataset", 2, order=sluice.OrderOptions(shuffle=sluice.Shuffle.SEQUENTIAL),
                           output=sluice.OutputOptions(image_sizes="padded"))
    batch = next(iter(loader))
    joined = batch.targets("ultralytics")
    assert torch.allclose(joined["bboxes"], torch.tensor([[0.3, 0.25, 0.2, 0.25], [0.3, 0.5, 0.2, 0.5]]))
    assert torch.allclose(joined["keypoints"][:, 0, :2], torch.tensor([[0.5, 0.25], [0.5, 0.5]]))
    own = batch.targets("torchvision")
    assert torch.allclose(own[0]["boxes"], torch.tensor([[20.0, 10, 40, 30]])) and own[0]["labels"].tolist() == [6]
    assert torch.allclose(own[0]["keypoints"][0, 0], torch.tensor([50.0, 20, 2]))


def test_targets_are_refused_by_name(raw, tmp_path):
    with pytest.raises(ValueError, match="torchvision, ultralytics, transformers, not 'coco'"):
        detection_batch(tmp_path / "dataset").targets("coco")
    without = sluice.Loader(raw, 8, output=sluice.OutputOptions(fields=["image", "label"]))
    with pytest.raises(ValueError, match="no boxes of any number"):
        next(iter(without)).targets("torchvision")


def test_targets_of_oriented_boxes_have_the_angle_of_the_longer_side(tmp_path):
    def corners(x, y, length, width, angle):
        along = numpy.array([numpy.cos(angle), numpy.sin(angle)]) * length / 2
        across = numpy.array([-numpy.sin(angle), numpy.cos(angle)]) * width / 2
        return [(x, y) - along - across, (x, y) + along - across, (x, y) + along + across, (x, y) - along + across]

    fields = [sluice.Field.image(), sluice.Field.variable("boxes", "float32", (8,), "boxes", "image", "corners-pixels")]
    angles = [0, 0.5, 2.2, 3.1, -0.7]
    with sluice.Writer(tmp_path / "dataset", fields, image="raw") as writer:
        boxes = [corners(30, 40, 20, 10, angle) for angle in angles] + [corners(30, 40, 10, 20, 0.3)]
        writer.add("a", image=numpy.zeros((100, 50, 3), numpy.uint8), boxes=numpy.array(boxes, "float32").reshape(-1, 8))
    batch = next(iter(sluice.Loader(tmp_path / "dataset", 1)))
    found = batch.targets("ultralytics")["bboxes"].numpy()
    numpy.testing.assert_allclose(found[:, :4], [[0.6, 0.4, 0.4, 0.1]] * 6, atol=1e-6)
    # From -45 degrees up to, but not including, 135; the last box is longer across.
    expected = [0, 0.5, 2.2, 3.1 - numpy.pi, -0.7, 0.3 + numpy.pi / 2]
    numpy.testing.assert_allclose(found[:, 4], expected, atol=1e-6)
    with pytest.raises(ValueError, match="oriented"):
        batch.targets("torchvision")
