"""What the guides say under "Known limits" is still so.

Each limit is listed here by the words that it begins with: with a check that fails once the limit has gone, or, if it
is about what was tried, about other programs, or about what another test checks, with that reason. A limit that is not
listed fails, and so does an entry that no guide has.
"""

import inspect
import pathlib
import re

import numpy
import pytest
import sluice
import sluice._columns

ROOT = pathlib.Path(__file__).parents[2]
TRIED = "what was run so far"
OTHERS = "about programs of others, or about the user's own"
ELSEWHERE = "behaviour that tests in C++ or tests/importers check"


def refused(words, call):
    """A check: the call raises an error with these words."""

    def check(place):
        with pytest.raises((sluice.Error, TypeError, ValueError, AttributeError), match=words):
            call(place)

    return check


def lacks(*names):
    """A check: the package has no class, function or enumerator that contains one of these words."""

    def check(_):
        known = " ".join([*dir(sluice), *dir(sluice.Dataset), *(word.name for word in sluice.Filter),
                          *(word.name for word in sluice.BoxFormat), *(word.name for word in sluice.ColumnType)]).lower()
        assert not [name for name in names if name in known]

    return check


def a_loader(transform="rrc:16", batch_size=4, **options):
    return lambda place: next(iter(sluice.Loader(place / "data", batch_size, transform=transform, **options)))


def a_mixture(parts, **options):
    def call(place):
        made = sluice.Mixture([(place / "data", weight) if weight else place / "data" for weight in parts])
        sluice.Loader(made, 4, transform="rrc:16", **options)

    return call


def with_masks(transform):
    return lambda place: sluice.Loader(place / "masks", 4, transform=transform)


def a_function(function, **options):
    return lambda place: list(sluice.Loader(place / "data", 4, transform="center:16", sample_function=function, **options))


def keeps_its_array(kept):
    return lambda sample: kept.append(sample.image())


def makes_another_shape(sample):
    sample.image()[...] = numpy.zeros((8, 8, 3), numpy.uint8)


def is_too_early(place):
    loader = sluice.Loader(place / "data", 4, transform="rrc:16")
    list(loader)
    assert "too early to say" in loader.stats().verdict


def has_a_row_for_each_mask(place):
    mask = next(iter(sluice.Loader(place / "masks", 4, transform="center:16")))["mask"]
    assert mask.shape[3] == 1 and mask.dtype in ("uint8", "uint16")


def writes_an_image_of_65_channels(place):
    with sluice.Writer(place / "channels", [sluice.Field.image()]) as writer:
        writer.add("a", image=numpy.zeros((80, 80, 65), numpy.uint16))


def converts_kept_pixels_to_a_size(place):
    sluice.convert(place, place / "kept", pixels="keep", size=(8, 8), progress=False)


def refuses_a_mask_of_samples(place):
    chosen = sluice.SampleList.of(numpy.array([True, False] * 8))
    sluice.Loader(place / "data", 4, transform="rrc:16", order=sluice.OrderOptions(samples=chosen))


def draws_by_the_loaders_seed(place):
    torch = pytest.importorskip("torch")
    rows = []
    for seed in 1, 2:
        torch.manual_seed(seed)
        rows.append(a_loader()(place)["image"].numpy().copy())
    assert (rows[0] == rows[1]).all()


def does_not_take_options_of_a_conversion(_):
    assert not {"max_side", "short_side", "quality"} & set(inspect.signature(sluice.Preprocess).parameters)


URL = "http://127.0.0.1:9/photos"
LIMITS = {
    "augmentation.md": {
        "Every random choice": draws_by_the_loaders_seed,
        "`MixUp`, `CutMix` and `CopyPaste` mix": refused("MixUp|CutMix", with_masks("rrc:16,mixup")),
        "Composed batches read": ELSEWHERE,
    },
    "clusters.md": {"Run so far": TRIED, "`finish` reads": ELSEWHERE, "Each part holds": ELSEWHERE},
    "cpp-project.md": {"Linux alone": TRIED, "The ABI": OTHERS, "What is stable": OTHERS},
    "detection.md": {
        "`RandAugment` is refused": ELSEWHERE,
        "[`CopyPaste`]": refused("needs a field of instances", with_masks("rrc:16,copypaste")),
        "Classes are int32": OTHERS,
        "`RandomAffine` turns an upright box's": ELSEWHERE,
        "Boxes are taken": ELSEWHERE,
    },
    "distributed.md": {"Run so far": TRIED, "A model trained": OTHERS},
    "errors.md": {"A lack of memory": ELSEWHERE, "`loader.faults()` keeps": ELSEWHERE},
    "first-training.md": {"The C++ block": TRIED, "`seed=0`": draws_by_the_loaders_seed},
    "frameworks.md": {"Tried with": TRIED, "A `sluice.Loader` in a worker": OTHERS, "Lightning:": OTHERS},
    "from-dali.md": {"Video": OTHERS, "The first block": TRIED},
    "from-ffcv.md": {"The blocks": TRIED, "Steps of FFCV": OTHERS},
    "from-huggingface.md": {
        "Datasets that are made": ELSEWHERE,
        "`hf://`": refused("is not a URL that Sluice reads", lambda _: sluice.Dataset("hf://owner/name")),
        "The first block": TRIED,
    },
    "from-imagefolder.md": {"Resizing is": lacks("bicubic"), "From C++": OTHERS},
    "from-tfdata.md": {"`SequenceExample`": ELSEWHERE, "The first block, and": TRIED},
    "from-webdataset.md": {
        "Tar files in an object store": refused(
            "cannot be opened", lambda _: sluice.Source(sluice.ConvertSource.archives([f"{URL}/a.tar"]))),
        "Members of other kinds": ELSEWHERE,
        "A `.cls` file": ELSEWHERE,
        "Names like": ELSEWHERE,
    },
    "imagenet.md": {"No accuracy": TRIED, "The rates": TRIED, "Shrinking": OTHERS},
    "inference.md": {"`Preprocess` does not repeat": does_not_take_options_of_a_conversion},
    "labels.md": {
        "A text cell": ELSEWHERE,
        "A mask is not a list": refused("mask", refuses_a_mask_of_samples),
    },
    "living-data.md": {
        "A store without conditional requests": ELSEWHERE,
        "At a URL, let no other change run": OTHERS,
        "`sluice merge` needs the same columns": ELSEWHERE,
        "Columns at a URL": ELSEWHERE,
        "`len(dataset)` and `class_counts`": ELSEWHERE,
        "Columns whose arrays": ELSEWHERE,
    },
    "many-bands.md": {
        "An image has at most 2^30 bytes, and 64 channels": refused("64", writes_an_image_of_65_channels),
        "Batches have the stored type": OTHERS,
        "A GPU gets finished rows": ELSEWHERE,
        "Without `--pixels keep`": ELSEWHERE,
        "With `--pixels keep`": refused("short_side and size", converts_kept_pixels_to_a_size),
    },
    "mixing.md": {
        "If a dataset has only": ELSEWHERE,
        "Datasets of a mixture": refused("mixture", a_mixture([1, 1], storage=sluice.Direct())),
        "With weights": refused("weights", a_mixture([1, 1], order=sluice.OrderOptions(shuffle="sequential"))),
        "A mixture has one": refused("has no option 'transforms'", lambda _: sluice.Mixture([], transforms=[])),
    },
    "object-stores.md": {
        "Run so far": TRIED,
        "TLS runs": ELSEWHERE,
        "Google's interface": OTHERS,
        "A plain web server": OTHERS,
        "`storage=Direct()`": ELSEWHERE,
    },
    "own-functions.md": {
        "A function must not keep": refused("kept", a_function(keeps_its_array([]))),
        "A Python function cannot": refused("broadcast", a_function(makes_another_shape)),
        "Geometric augmentation": OTHERS,
    },
    "seen.md": {
        "This is the plan. A sample that could not be read": ELSEWHERE,
        "Ask with the options that the training had then.": OTHERS,
        "Batches that a function composes (`OrderOptions(batches=)`) are found by calling it": ELSEWHERE,
    },
    "resuming.md": {
        "torch's own": OTHERS,
        "Random numbers": OTHERS,
        "With `ranks.by_shards`": ELSEWHERE,
    },
    "segmentation.md": {
        "A mask has one value": has_a_row_for_each_mask,
        "`MixUp`, `RandAugment` and": refused("RandAugment", with_masks("rrc:16,randaug:2/9")),
        "PNG masks": ELSEWHERE,
        "With `--mask-folder`": ELSEWHERE,
    },
    "trouble.md": {"The verdict": is_too_early, "A thread that hangs": OTHERS},
    "validation.md": {"With `on_fault": ELSEWHERE, "Predictions": OTHERS},
    "worked-case.md": {"The pictures are drawn": TRIED},
    "without-conversion.md": {"A plain web server": ELSEWHERE, "The list takes": ELSEWHERE},
}


def limits_of(page):
    """The limits that a guide lists."""
    _, _, rest = page.read_text().partition("\n## Known limits\n")
    return [re.sub(r"\s+", " ", limit).strip() for limit in re.split(r"^- ", rest.split("\n## ")[0], flags=re.M)[1:]]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """16 samples, in data/ with labels, and in masks/ with masks."""
    folder = tmp_path_factory.mktemp("limits")
    label, mask = sluice.Field.label("label", ["a", "b"]), sluice.Field.mask("mask")
    for name, field in ("data", label), ("masks", mask):
        with sluice.Writer(folder / name, [sluice.Field.image(), field, *[label] * (name == "masks")]) as writer:
            for number in range(16):
                fields = {"image": numpy.full((24, 24, 3), number, numpy.uint8), "label": number % 2}
                if name == "masks":
                    fields["mask"] = numpy.full((24, 24), number, numpy.uint8)
                writer.add(str(number), **fields)
    return folder


def test_every_limit_of_a_guide_is_known():
    faults = []
    for page in sorted(ROOT.glob("samples/guides/*.md")):
        known, said = LIMITS.get(page.name, {}), limits_of(page)
        faults += [f"{page.name}: add the check of: {limit}" for limit in said if not any(map(limit.startswith, known))]
        faults += [f"{page.name} no longer says: {one}" for one in known if not any(limit.startswith(one) for limit in said)]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize("page, limit", [(page, limit) for page, limits in LIMITS.items()
                                         for limit, check in limits.items() if callable(check)])
def test_a_limit_of_a_guide_is_still_there(place, page, limit):
    LIMITS[page][limit](place)


# Features, and the words by which a page would deny them.
DENIALS = {
    "Source": r"no loader over a plain folder|have to be converted first|must be converted first",
    "SharedRows": r"[Pp]rocesses do not share|puts nothing into `/dev/shm`\.",
    "DecodedPictures": r"[Nn]othing is kept between epochs",
    "Preprocess": r"no way to serve",
    "DeletedSamples": r"pictures of more than 8 bits a channel, Windows|[Cc]olumns cannot be added to a dataset",
}


@pytest.mark.parametrize("feature", DENIALS)
def test_no_page_denies_a_feature_that_is_there(feature):
    assert hasattr(sluice, feature)
    pages = [ROOT / "README.md", *(page for top in ("bench", "format", "reader", "samples", "writer") for page in (ROOT / top).rglob("*.md"))]
    assert not [str(page) for page in pages if re.search(DENIALS[feature], re.sub(r"\s+", " ", page.read_text()))]
