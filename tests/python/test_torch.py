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
