"""Several datasets played as one."""

import numpy
import pytest
import sluice

from conftest import FIELDS, sample

SEQUENTIAL = sluice.OrderOptions(shuffle=sluice.Shuffle.SEQUENTIAL)


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """20 samples with the first two of raw's fields, and a class more."""
    folder = tmp_path_factory.mktemp("other") / "dataset"
    fields = [FIELDS[0], sluice.Field.label("label", ["cat", "dog", "eel", "fox"])]
    with sluice.Writer(folder, fields, image="raw") as writer:
        for number in range(20):
            writer.add(f"{number}.png", {"image": sample(100 + number)["image"], "label": 3})
    return folder


def test_every_sample_comes_once_without_weights(raw, other):
    mixture = sluice.Mixture([raw, sluice.Dataset(other)])
    assert len(mixture) == 2 and mixture.of(49) == (0, 49) and mixture.of(50) == (1, 0)
    loader = sluice.Loader(mixture, 8, order=SEQUENTIAL)
    seen = []
    for batch in loader:
        for row, number in enumerate(batch.samples.tolist()):
            seen.append(number)
            part, own = mixture.of(number)
            assert numpy.array_equal(batch["image"].numpy()[row], sample(own + 100 * part)["image"])
            assert batch["label"].numpy()[row] == (3 if part else own % 3)
            assert batch.has("pose", row) == (part == 0)
    assert seen == list(range(70))


def test_weights_are_shares_of_each_batch_if_asked_for(raw, other):
    mixture = sluice.Mixture([(str(raw), 3), (other, 1)], shares=sluice.MixtureShares.OF_EACH_BATCH,
                             length=sluice.MixtureLength.SHORTEST)
    loader = sluice.Loader(mixture, 8)
    assert len(loader) == 8  # 6 of 50 in each
    of_other = [sum(mixture.of(number)[0] for number in batch.samples.tolist()) for batch in loader]
    assert of_other == [2] * 8


def test_what_cannot_be_mixed_is_refused(raw, other):
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
