"""sluice.Mixture: several datasets played as one; and values that samples lack."""

import numpy
import pytest
import sluice

from conftest import FIELDS, caption, picture, sample

SEQUENTIAL = sluice.OrderOptions(shuffle=sluice.Shuffle.SEQUENTIAL)


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """20 samples with the first two of raw's fields, and one more class."""
    folder = tmp_path_factory.mktemp("other") / "dataset"
    fields = [FIELDS[0], sluice.Field.label("label", ["cat", "dog", "eel", "fox"])]
    with sluice.Writer(folder, fields, image="raw") as writer:
        for number in range(20):
            writer.add(f"{number}.png", {"image": sample(100 + number)["image"], "label": 3})
    return folder


def test_every_sample_comes_once_without_weights(raw, other):
    mixture = sluice.Mixture([raw, sluice.Dataset(other)])
    assert len(mixture) == 2 and mixture.of(49) == (0, 49) and mixture.of(50) == (1, 0)
    loader = sluice.Loader(mixture, 8, order=SEQUENTIAL, output=sluice.OutputOptions(absent=-1))
    seen = []
    for batch in loader:
        for row, number in enumerate(batch.samples.tolist()):
            seen.append(number)
            part, own = mixture.of(number)
            assert numpy.array_equal(batch["image"].numpy()[row], sample(own + 100 * part)["image"])
            assert batch["label"].numpy()[row] == (3 if part else own % 3)
            assert batch.has("pose", row) == (part == 0)
    assert seen == list(range(70))


def test_weights_are_shares_of_each_batch_on_request(raw, other):
    mixture = sluice.Mixture([(str(raw), 3), (other, 1)], shares=sluice.MixtureShares.OF_EACH_BATCH,
                             length=sluice.MixtureLength.SHORTEST)
    loader = sluice.Loader(mixture, 8, output=sluice.OutputOptions(fields=["image", "label"]))
    assert len(loader) == 8  # each takes 6 of the 50 samples of raw
    of_other = [sum(mixture.of(number)[0] for number in batch.samples.tolist()) for batch in loader]
    assert of_other == [2] * 8


def test_a_dict_has_the_weights_as_its_values(raw, other):
    assert repr(sluice.Mixture({raw: 0.75, other: 0.25})) == repr(sluice.Mixture([(raw, 0.75), (other, 0.25)]))
    with pytest.raises(TypeError, match="weight of dataset 1 is a number"):
        sluice.Mixture({raw: 1, other: None})


def test_datasets_that_cannot_be_mixed_are_refused(raw, other):
    with pytest.raises(sluice.Error, match="pair of a dataset and its weight"):
        sluice.Mixture([(raw, 1, 2)])
    with pytest.raises(sluice.Error, match="weight of dataset 1"):
        sluice.Loader(sluice.Mixture([(raw, 1), (other, -1)]), 8)
    for weights, number in [((0, 1), 0), ((1, 0), 1), ((0, 0), 0)]:
        with pytest.raises(sluice.Error, match=f"weight of dataset {number} .* is 0; leave the dataset out"):
            sluice.Loader(sluice.Mixture(list(zip((raw, other), weights))), 8)
    with pytest.raises(sluice.Error, match="weight of dataset 1"):
        sluice.Loader(sluice.Mixture([(raw, 1), other]), 8)
    with pytest.raises(sluice.Error, match="no samples|has no datasets"):
        sluice.Loader(sluice.Mixture([]), 8)


@pytest.fixture(scope="module")
def unlabelled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unlabelled") / "dataset"
    with sluice.Writer(folder, [sluice.Field.image()], image="raw") as writer:
        for number in range(20):
            writer.add(str(number), image=picture(number))
    return folder


def test_a_dataset_without_labels_needs_a_value_for_absent_labels(raw, unlabelled):
    mixture = sluice.Mixture([raw, unlabelled])
    with pytest.raises(sluice.Error, match=r'has no label "label".*output=sluice.OutputOptions\(absent='):
        sluice.Loader(mixture, 10)
    for batch in sluice.Loader(mixture, 10, output=sluice.OutputOptions(absent=-100)):
        labels, has = batch["label"].numpy(), batch.has("label")
        assert has.tolist() == [number < 50 for number in batch.samples]
        assert labels.tolist() == [number % 3 if number < 50 else -100 for number in batch.samples]
    seen = sum(len(batch) for batch in sluice.Loader(mixture, 10, output=sluice.OutputOptions(fields=["image"])))
    assert seen == 70


@pytest.mark.parametrize("field, words", [
    ("pose", r'has no field "pose".* would be 0, .*output=sluice.OutputOptions\(absent='),
    ("boxes", r'has no field "boxes".* would be empty.*output=sluice.OutputOptions\(absent='),
])
def test_a_number_or_a_list_that_a_dataset_lacks_is_filled_only_on_request(raw, unlabelled, field, words):
    mixture = sluice.Mixture([raw, unlabelled])
    output = sluice.OutputOptions(fields=["image", field])
    with pytest.raises(sluice.Error, match=words):
        sluice.Loader(mixture, 10, output=output)
    output.absent = -100
    for batch in sluice.Loader(mixture, 10, output=output):
        for row, number in enumerate(batch.samples.tolist()):
            value = batch[field].numpy()[row] if field == "pose" else batch[field][row]
            if number >= 50:
                assert (value == -100).all() and len(value) == (2 if field == "pose" else 0)
            else:
                assert numpy.array_equal(value, sample(number)[field])


def test_a_text_that_a_dataset_lacks_is_None(raw, unlabelled):
    loader = sluice.Loader(sluice.Mixture([raw, unlabelled]), 10, output=sluice.OutputOptions(fields=["image", "caption"]))
    for batch in loader:
        assert all(text is None for text, number in zip(batch["caption"], batch.samples) if number >= 50)


def test_a_dict_of_tensors_shows_which_values_are_absent(raw, unlabelled):
    torch = pytest.importorskip("torch")
    import sluice.torch

    extras = ["has", "samples", "valid", "flags"]
    output = sluice.OutputOptions(absent=-100)
    ranks = sluice.RankOptions(0, 1, last_batch=sluice.LastBatch.PAD)
    dataset = sluice.torch.IterableDataset(sluice.Mixture([raw, unlabelled]), 16, extras=extras, output=output, ranks=ranks)
    valid = 0
    for batch in dataset:
        assert batch["samples"].dtype == torch.int64 and batch["flags"].dtype == torch.uint8
        assert batch["has"]["label"].tolist() == [number < 50 for number in batch["samples"].tolist()]
        assert set(batch["has"]) == set(batch) - set(extras)
        assert batch["valid"] == (batch["flags"] != int(sluice.SampleFlag.FILLS_UP)).sum()
        assert (batch["label"][~batch["has"]["label"]] == -100).all()
        valid += batch["valid"]
    assert valid == 70
    with pytest.raises(ValueError, match="extras are 'has', 'samples', .*'torchvision', 'ultralytics', 'transformers', not 'key'"):
        sluice.torch.IterableDataset(raw, 16, extras=["key"])


def test_a_sample_without_a_mask_gets_the_value_of_mask_fill(tmp_path):
    fields = [sluice.Field.image(), sluice.Field.mask("mask", "image")]
    with sluice.Writer(tmp_path / "masks", fields, image="raw") as writer:
        for number in range(8):
            mask = numpy.full((32, 32), 1, numpy.uint8)
            writer.add(str(number), {"image": picture(number), **({"mask": mask} if number % 2 else {})})
    for fill in {"mask": 0}, {"mask": 255}:
        for batch in sluice.Loader(tmp_path / "masks", 3, output=sluice.OutputOptions(mask_fill=fill)):
            for sample, mask, has in zip(batch.samples, batch["mask"].numpy(), batch.has("mask")):
                assert (mask == (1 if sample % 2 else fill["mask"])).all() and has == sample % 2


def test_an_absent_text_is_None(raw):
    for batch in sluice.Loader(raw, 10):
        assert batch["caption"] == [caption(number) for number in batch.samples]
