"""At home in PyTorch."""

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


def test_the_dataset_of_a_dataloader(raw):
    dataset = sluice.torch.IterableDataset(raw, 8, seed=2)
    loader = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=0)
    first = [batch["label"] for batch in loader]
    second = [batch["label"] for batch in loader]
    assert len(loader) == 7 and sum(map(len, first)) == 50
    assert not torch.equal(torch.cat(first), torch.cat(second))
    dataset.set_epoch(0)
    assert torch.equal(torch.cat([batch["label"] for batch in loader]), torch.cat(first))


def test_worker_processes_are_refused(raw):
    dataset = sluice.torch.IterableDataset(raw, 8)
    loader = torch.utils.data.DataLoader(dataset, batch_size=None, num_workers=1,
                                         multiprocessing_context="fork")
    with pytest.raises(RuntimeError, match="num_workers=0"):
        next(iter(loader))


def test_state_of_a_stateful_dataloader(raw):
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
