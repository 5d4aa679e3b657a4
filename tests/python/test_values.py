"""Steps and options as values: their repr is the code that makes them, they can be pickled, strings stand for
enumerators, and no change of an attribute is lost silently."""

import enum
import inspect
import itertools
import pickle
import pydoc

import numpy
import pytest
import sluice

WRITTEN = [
    "sluice.RandomResizedCrop(176, scale=(0.35, 1.0), filter=sluice.Filter.AREA)",
    "sluice.RandomResizedCrop((96, 128))",
    "sluice.CenterCrop((100, 224))",
    "sluice.ResizeShortSide(200)",
    "sluice.RandomCrop(padding=4, padding_mode=sluice.Border.REFLECT, fill=(1, 2, 3))",
    "sluice.HorizontalFlip()",
    "sluice.RandomAffine(degrees=15.0, translate=(0.1, 0.2))",
    "sluice.RandomAffine(degrees=(-10.0, 20.0), shear=5.0, fill=(9, 8, 7))",
    "sluice.RandomAffine(shear=(-1.0, 2.0), fill=9)",
    "sluice.RandomAffine(shear=(0.0, 0.0, 3.0, 4.0))",
    "sluice.RandomAffine(degrees=15.0, size=(48, 64))",
    "sluice.Letterbox((48, 64), fill=(1, 2, 3), scaleup=False)",
    "sluice.Letterbox(fill=7)",
    "sluice.RandomZoomOut(fill=114, side_range=(1.5, 2.0), p=1.0)",
    "sluice.RandomIoUCrop(min_scale=0.5, sampler_options=[0.0, 0.5], trials=7)",
    "sluice.ScaleJitter(target_size=(48, 64), scale_range=(0.5, 1.5))",
    "sluice.FixedSizeCrop(48, fill=3)",
    "sluice.RandomShortestSize(min_size=[48, 64], max_size=100)",
    "sluice.RandomShortestSize(min_size=48)",
    "sluice.RandomPerspective(distortion_scale=0.25, p=1.0)",
    "sluice.RandomChoice([[sluice.HorizontalFlip()], [sluice.Invert(p=0.5), sluice.Solarize(threshold=9)], []], p=[0.5, 0.25, 0.25])",
    "sluice.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225], type=sluice.FloatType.FLOAT16)",
    "sluice.OneHot(classes=10, smoothing=0.1)",
    "sluice.OutputSize(3, 128, 96)",
    "sluice.SkippedBatches(3, 100, count=20)",
    "sluice.OrderOptions(skip=[sluice.SkippedBatches(3, 100, global_batch=64)])",
    "sluice.OrderOptions(shuffle=sluice.Shuffle.RANDOM, lanes=64)",
    "sluice.RankOptions(rank=1, world_size=4, last_batch=sluice.LastBatch.DROP)",
    "sluice.RingOptions(prefetch=3, hold=4)",
    "sluice.OutputOptions(layout=sluice.Layout.NCHW, boxes=sluice.BoxRule(min_visible=0.5), mask_fill={'mask': 255})",
    "sluice.View('small', [sluice.RandomResizedCrop(96), sluice.HorizontalFlip()], schedule=[(1, [sluice.Resize(64)])])",
    "sluice.DecodedPictures(1000000, folder='/tmp')",
    "sluice.Stage('/nvme', 1000)",
    "sluice.SharedRows(1000, folder='/tmp')",
    "sluice.Mapped(read_ahead_bytes=2097152)",
    "sluice.Locked()",
    "sluice.Direct(read_ahead_bytes=1048576)",
    "sluice.IntegrityOptions(on_fault=sluice.OnFault.SKIP)",
    "sluice.OnDevice(steps=False)",
    "sluice.Column('box', type=sluice.ColumnType.BOXES)",
    "sluice.AnnotationParts(captions=False)",
    "sluice.SampleList()",
    "sluice.Shuffle.QUASI_RANDOM",
    "sluice.ConvertSource.Kind.TABLE",
    "sluice.SampleFlag.FILLS_UP",
]


def test_arguments_mean_what_they_mean_in_torchvision():
    crop = sluice.RandomCrop(32, 4)
    assert (crop.size, crop.padding) == (32, 4)
    assert repr(sluice.Resize((120, 160))) == "sluice.Resize((120, 160))"  # height, width
    assert sluice.Normalize([0.5], [0.25]).std == [0.25] and sluice.HorizontalFlip(p=0.3).p == 0.3
    with pytest.raises(TypeError):
        sluice.Resize(160, 120)


@pytest.mark.parametrize("text", WRITTEN)
def test_a_value_pickles_and_its_repr_is_its_code(text):
    value = eval(text)
    assert repr(value) == text
    assert repr(pickle.loads(pickle.dumps(value))) == text


def test_every_keyword_of_a_step_or_group_is_an_attribute():
    """repr() and pickle read the attributes, so they leave no keyword out."""
    made = 0
    for name, one in vars(sluice).items():
        if not inspect.isclass(one) or not hasattr(one, "__signature__") or name in (
                "Loader", "Dataset", "Source", "ConvertSource", "Preprocess"):
            continue
        if issubclass(one, enum.Enum):  # enumerations have a signature since Python 3.12
            continue
        if one.__reduce__ is object.__reduce__:
            assert name in ("NativeFunction", "LoaderTrace", "Metrics", "AspectBuckets", "SizedBatches"), name
            continue
        made += 1
        assert set(one.__signature__.parameters) <= set(dir(one)), name
    assert made >= 27 + 18  # steps and groups of options


def test_a_mixture_and_a_dataset_pickle(raw):
    dataset = pickle.loads(pickle.dumps(sluice.Dataset(raw, max_pixels=2000)))
    assert len(dataset) == 50 and dataset[3]["label"] == 0
    text = f"sluice.Mixture([({str(raw)!r}, 2.0), ({str(raw)!r}, 1.0)], shares=sluice.MixtureShares.OF_EACH_BATCH)"
    mixture = sluice.Mixture([(raw, 2), (sluice.Dataset(raw), 1)], shares="of_each_batch")
    assert repr(mixture) == text
    again = pickle.loads(pickle.dumps(mixture))
    assert repr(again) == text and len(again) == 2


def test_a_dataset_pickles_with_its_limits(raw):
    dataset = pickle.loads(pickle.dumps(sluice.Dataset(raw, max_pixels=32 * 32 - 1)))
    with pytest.raises(sluice.Error, match="1023|max_pixels"):
        dataset[0]["image"]


def test_pickled_options_make_a_loader_elsewhere(raw):
    options = {"transform": [sluice.RandomResizedCrop(16), sluice.HorizontalFlip()], "seed": 4,
               "order": sluice.OrderOptions(shuffle="random"), "ring": sluice.RingOptions(hold=3)}
    dataset, again = pickle.loads(pickle.dumps((sluice.Dataset(raw), options)))
    for one, other in zip(sluice.Loader(raw, 10, **options), sluice.Loader(dataset, 10, **again)):
        assert (one["image"].numpy() == other["image"].numpy()).all()


def test_objects_that_cannot_be_pickled_say_why(raw):
    loader = sluice.Loader(raw, 10)
    epoch = iter(loader)
    batch = next(epoch)
    for value, words in [(loader, "make it in the process"), (epoch, "state"), (batch, "pickle copies"),
                         (batch["image"], "pickle copies"), (batch["boxes"], "pickle copies"),
                         (sluice.SampleList.of([1, 2]), "the numbers of its samples")]:
        with pytest.raises(TypeError, match=words):
            pickle.dumps(value)


def test_strings_stand_for_enumerators(raw, tmp_path):
    assert sluice.OrderOptions(shuffle="random").shuffle is sluice.Shuffle.RANDOM
    assert sluice.RandomResizedCrop(32, filter="area").filter is sluice.Filter.AREA
    ranks = sluice.RankOptions()
    ranks.last_batch = "pad"
    assert ranks.last_batch is sluice.LastBatch.PAD
    from PIL import Image

    (tmp_path / "in/a").mkdir(parents=True)
    for number in range(3):
        Image.new("RGB", (40, 30), (number, 0, 0)).save(tmp_path / f"in/a/{number}.png")
    source = sluice.ConvertSource(tmp_path / "in")
    source.label.folders = "parent"
    summary = sluice.convert(source, tmp_path / "out", image="packed", subsampling="444", on_error="fail", progress=False)
    assert summary.samples == 3


@pytest.mark.parametrize("call, words", [
    (lambda: sluice.convert("a", "b", image="jpg"), r"convert\(\): image takes 'jpeg' \| 'packed' \| 'raw', not 'jpg'$"),
    (lambda: sluice.convert("a", "b", subsampling=420), r"subsampling takes '420' \| '444', not 420; write subsampling='420'$"),
    (lambda: sluice.OrderOptions(shuffle="shuffled"), r"shuffle takes 'quasi_random' \| 'random' \| 'sequential', not 'shuffled'$"),
    (lambda: setattr(sluice.RankOptions(), "last_batch", "short"), r"RankOptions.last_batch takes 'keep' \| 'drop' \| 'pad', not 'short'$"),
    (lambda: setattr(sluice.RankOptions(), "last_batch", 1), r"RankOptions.last_batch takes 'keep' \| 'drop' \| 'pad', not 1$"),
    (lambda: setattr(sluice.ConvertSource("a").label, "folders", "up"), r"LabelOptions.folders takes 'auto' \| 'top' \| 'parent', not 'up'$"),
    (lambda: sluice.ConvertSource.annotated("cocoa", "a", "b"), r"annotated\(\): format takes 'coco' \| 'voc' \| 'yolo' \| 'dota', not 'cocoa'$"),
])
def test_the_error_for_a_wrong_string_lists_the_right_ones(call, words):
    with pytest.raises(TypeError, match=words):
        call()


def test_the_error_for_an_unknown_type_or_role_of_a_field_lists_the_known_ones():
    with pytest.raises(sluice.Error, match="unknown element type \"int128\"; the known ones are int8, .*, float64"):
        sluice.Field.array("a", "int128", [])
    with pytest.raises(sluice.Error, match="unknown role \"caption\"; the known ones are none, .*, json"):
        sluice.Field.bytes("a", "caption")


def test_the_string_of_an_enumerator_is_its_name_in_lower_case():
    for name, one in vars(sluice).items():
        if inspect.isclass(one) and issubclass(one, enum.Enum) and name != "SampleFlag":  # its values are numbers in arrays
            assert all(str.lower(each.name).lstrip("s") == each.value.lstrip("s") for each in one), name


@pytest.mark.parametrize("text", WRITTEN)
def test_values_are_equal_if_they_are_written_alike(text):
    value = eval(text)
    assert value == eval(text) and not value != eval(text)
    assert value != "sluice" and value != sluice.Invert(p=0.125)
    if not isinstance(value, (enum.Enum, sluice.SampleList)):  # these cannot be changed
        with pytest.raises(TypeError, match="unhashable"):
            hash(value)
    for name, one in inspect.getmembers(type(value), lambda member: isinstance(member, property)):
        now = getattr(value, name)
        if one.fset and another(now) != now:
            changed = eval(text)
            setattr(changed, name, another(now))
            assert changed != value, name


def test_sources_datasets_and_lists_of_samples_are_equal_by_value(raw, tmp_path):
    def source(classes):
        made = sluice.ConvertSource.table("labels.csv")
        made.label.classes = classes
        return made

    assert source(["a"]) == source(["a"]) and source(["a"]) != source(["b"])
    assert source(["a"]).label == source(["a"]).label != source(["b"]).label
    assert sluice.Dataset(raw) == sluice.Dataset(raw) != sluice.Dataset(raw, max_pixels=5)
    assert len({sluice.Dataset(raw), sluice.Dataset(raw)}) == len({sluice.Field.image(), sluice.Field.image()}) == 1
    numbers = sluice.SampleList.of([1, 2])
    assert numbers == sluice.SampleList.of([1, 2]) != sluice.SampleList.of([2, 1]) and sluice.SampleList() == sluice.SampleList()
    assert sluice.OrderOptions(samples=numbers, batches=len) == sluice.OrderOptions(samples=sluice.SampleList.of([1, 2]), batches=len)
    assert sluice.OrderOptions(batches=len) != sluice.OrderOptions(batches=max)


def test_the_type_of_numbers_equals_numpys(raw):
    batch = next(iter(sluice.Loader(raw, 4)))
    for dtype in batch["image"].dtype, sluice.Field.array("x", "uint8").dtype, sluice.Preprocess("center:8").dtype:
        assert dtype == "uint8" and dtype == numpy.uint8 and numpy.dtype("uint8") == dtype and dtype == numpy.dtype("uint8")
        assert dtype != "int8" and dtype != numpy.int8 and dtype != numpy.dtype("int8") and dtype != 3 and dtype != None  # noqa: E711
        assert {"uint8": 1}[dtype] == 1 and repr(dtype) == "'uint8'" and pickle.loads(pickle.dumps(dtype)) == "uint8"


def test_signatures_are_readable():
    signature = inspect.signature(sluice.Loader)
    assert list(signature.parameters)[:4] == ["dataset", "batch_size", "threads", "transform"]
    assert signature.parameters["batch_size"].default == 256
    assert signature.parameters["threads"].kind is inspect.Parameter.KEYWORD_ONLY
    assert signature.parameters["ring"].annotation is sluice.RingOptions
    text = pydoc.plain(pydoc.render_doc(sluice.Loader))
    assert "Loader(" in text and "dataset: sluice.Dataset" in text  # Python 3.13 breaks the line between them
    assert "ring: sluice.RingOptions = sluice.RingOptions()" in text
    convert = inspect.signature(sluice.convert)
    assert list(convert.parameters)[:3] == ["source", "dataset", "progress"]
    assert convert.parameters["quality"].default == 90
    assert "image: sluice.ImageCodec = sluice.ImageCodec.JPEG" in pydoc.plain(pydoc.render_doc(sluice.convert))
    for name, one in vars(sluice).items():
        if hasattr(one.__init__ if inspect.isclass(one) else one, "__nb_signature__") or inspect.isfunction(one):
            inspect.signature(one)


class Given:
    """An object of each class of the module that has attributes, by the class's name."""

    def __init__(self, raw, folder):
        self.loader = sluice.Loader(raw, 10, sample_function=self.note, order=sluice.OrderOptions(shuffle="sequential"),
                                    integrity=sluice.IntegrityOptions(on_fault="skip"),
                                    diagnostics=sluice.DiagnosticsOptions(trace=sluice.LoaderTrace()))
        dataset = sluice.Dataset(raw)
        epoch = iter(self.loader)
        batch = next(epoch)
        source = sluice.ConvertSource.table(folder / "labels.csv")
        source.rows.columns = [sluice.Column("score"), sluice.Column("text", "text")]
        source.label.classes = ["a"]
        self.objects = {
            "Sample": dataset[3], "Dataset": dataset, "Batch": batch, "Array": batch["image"], "Ragged": batch["boxes"],
            "Loader": self.loader, "Epoch": epoch, "Field": dataset.fields[1], "LoaderStats": self.loader.stats(),
            "DurationHistogram": self.loader.stats().batch_waits,
            "LoaderTrace": self.loader_trace(), "TraceEvent": self.event(), "SampleFault": self.loader.faults()[0],
            "ConvertSource": source, "Mixture": sluice.Mixture([raw, raw]), "NativeFunction": sluice.NativeFunction(8),
            "SampleList": sluice.SampleList.of([1, 2]), "Stage": sluice.Stage("/nvme", 100), "Error": sluice.Error("x"),
            "DecodedPictures": sluice.DecodedPictures(100), "SharedRows": sluice.SharedRows(100),
            "OutputSize": sluice.OutputSize(1, 2, 3), "SkippedBatches": sluice.SkippedBatches(1, 2, 3),
            "Column": sluice.Column("a"), "Resize": sluice.Resize(8), "ResizeShortSide": sluice.ResizeShortSide(8),
            "AspectBuckets": sluice.AspectBuckets(dataset, [(8, 8)], 4), "SizedBatches": sluice.SizedBatches([[1]], [0]),
            "View": sluice.View("v", [sluice.Resize(8)], sizes=[sluice.OutputSize(1, 8, 8)], schedule=[(1, [sluice.Resize(4)])]),
            "OutputOptions": sluice.OutputOptions(fields=["image"], mask_fill={"mask": 3}, made_fields=[sluice.Field.array("w", "uint8")]),
            "RandomChoice": sluice.RandomChoice([sluice.HorizontalFlip(), "invert", []], [1, 2, 3]),
            "RandomCrop": sluice.RandomCrop(8, fill=[1, 2, 3]), "RandAugment": sluice.RandAugment(fill=[1, 2, 3]),
        }
        # Objects of a conversion.
        (folder / "in/a").mkdir(parents=True)
        (folder / "in/a/broken.jpg").write_bytes(b"\xff\xd8\xff\xe0")
        from PIL import Image
        for number in range(2):
            Image.new("RGB", (9, 9)).save(folder / f"in/a/{number}.png")
        summary = sluice.convert(folder / "in", folder / "out", find_duplicates=True, progress=False)
        self.objects.update(ConvertSummary=summary, LeftOut=summary.skipped[0], Duplicate=summary.duplicates[0][0],
                            SomeImages=summary.turned, Source=sluice.Source(folder / "in"),
                            Preprocess=self.preprocess(folder / "out"))
        self.objects["RowFault"] = self.objects["Preprocess"].rows([b"nonsense"])[1][0]
        # The first two are valid only during the call of a function; Writer is a class of Python code.
        self.without_object = {"MutableSample", "MutableBatch", "Writer"}

    def note(self, sample):
        if sample.index == 3:
            raise ValueError("no")

    def preprocess(self, dataset):
        return sluice.Preprocess(sluice.Loader(dataset, transform="center:8").pipeline())

    def loader_trace(self):
        return sluice.LoaderTrace()

    def event(self):
        trace = sluice.LoaderTrace()
        list(sluice.Loader(self.objects_path(), 10, diagnostics=sluice.DiagnosticsOptions(trace=trace)))
        return trace.take()[0]


def another(value):
    """A value of the same type that differs."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, enum.Enum):
        return next((one for one in type(value) if one is not value), value)
    if isinstance(value, (int, float)):
        return value + 1
    return value


def changes(value):
    """Ways to change a value in place."""
    if isinstance(value, list):
        yield lambda: value.append(value[0] if value else "x")
        yield lambda: value.insert(0, "x")
        yield lambda: value.__iadd__(["x"])
        yield lambda: value.clear()
        yield lambda: value.__setitem__(slice(0, 0), ["x"])
        for each in value:
            yield from changes(each)
    elif isinstance(value, dict):
        yield lambda: value.__setitem__("x", 1)
        yield lambda: value.update(x=1)
        yield lambda: value.clear()
    elif isinstance(value, tuple):
        for each in value:
            yield from changes(each)
    elif type(value).__module__ == "sluice" and not isinstance(value, enum.Enum):
        for name, one in inspect.getmembers(type(value), lambda member: isinstance(member, property)):
            now = getattr(value, name) if one.fset else None
            if one.fset and another(now) != now:
                yield lambda name=name, now=now: setattr(value, name, another(now))


def test_no_change_of_an_attribute_is_lost_silently(raw, tmp_path):
    """Changes the value of each attribute of each class in place. Then either an exception says that this is
    impossible, or the attribute shows the change."""
    Given.objects_path = lambda self: raw
    given = Given(raw, tmp_path)
    seen, refused = 0, 0
    for name, kind in inspect.getmembers(sluice, inspect.isclass):
        attributes = [key for key, one in inspect.getmembers(kind, lambda member: isinstance(member, property))]
        if issubclass(kind, enum.Enum) or not attributes or name in given.without_object:
            continue
        one = given.objects[name] if name in given.objects else kind()
        for attribute in attributes:
            if attribute.startswith("__"):
                continue  # __array_interface__ and __cuda_array_interface__
            seen += 1
            for number in range(200):
                value = getattr(one, attribute)
                change = next(itertools.islice(changes(value), number, None), None)
                if change is None:
                    break
                before = repr(getattr(one, attribute))
                try:
                    change()
                except TypeError as error:
                    assert "copy" in str(error) or "takes" in str(error), (name, attribute, error)
                    refused += 1
                    continue
                assert repr(getattr(one, attribute)) != before, (name, attribute)
    assert seen > 200 and refused > 50


def test_members_that_are_groups_can_be_set_in_place(raw):
    output = sluice.OutputOptions()
    output.boxes.min_visible = 0.5
    assert output.boxes.min_visible == 0.5 and "min_visible=0.5" in repr(output)
    boxes = output.boxes
    del output
    assert boxes.min_visible == 0.5
    source = sluice.ConvertSource(raw)
    source.label_files.parts.masks = False
    assert not source.label_files.parts.masks


def test_read_only_objects_can_be_compared_copied_and_pickled():
    source = sluice.ConvertSource("a")
    source.rows.columns = [sluice.Column("score")]
    columns = source.rows.columns
    with pytest.raises(TypeError, match="set the attribute to a new list"):
        columns.append(sluice.Column("more"))
    with pytest.raises(TypeError, match="copy"):
        columns[0].field = "x"
    assert isinstance(columns[0], sluice.Column) and repr(columns) == "[sluice.Column('score')]"
    source.rows.columns = [*columns, sluice.Column("more")]
    assert len(source.rows.columns) == 2 and source.rows.columns != columns
    again = pickle.loads(pickle.dumps(columns))
    again[0].field = "x"
    again.append(sluice.Column("y"))
    output = sluice.OutputOptions(mask_fill={"mask": 3}, fields=["image"])
    assert output.mask_fill == {"mask": 3} and output.fields == ["image"]
    with pytest.raises(TypeError, match="copy"):
        output.mask_fill["mask"] = 255
    output.mask_fill = output.mask_fill | {"other": 1}
    assert output.mask_fill == {"mask": 3, "other": 1}


@pytest.mark.parametrize("call", [
    lambda: sluice.Loader("x", True), lambda: sluice.Loader("x", threads=True), lambda: sluice.Loader("x", seed=True),
    lambda: sluice.Loader("x", timeout=True), lambda: sluice.RingOptions(prefetch=True), lambda: sluice.Resize(True),
    lambda: sluice.RankOptions(True, 2), lambda: sluice.OutputSize(True, 2, 3), lambda: sluice.SkippedBatches(0, True), lambda: sluice.HorizontalFlip(True),
    lambda: sluice.OutputOptions(mask_fill={"mask": True}), lambda: sluice.RandomCrop(fill=[True]),
    lambda: setattr(sluice.RingOptions(), "hold", True), lambda: sluice.convert("a", "b", quality=True),
    lambda: sluice.Dataset("x", max_pixels=True), lambda: sluice.SampleList.weighted([True], 1, False),
    lambda: sluice.Mixture([("x", True)]), lambda: sluice.Loader("x", numpy.True_), lambda: sluice.Resize(numpy.True_),
    lambda: sluice.Loader("x", timeout=numpy.True_), lambda: sluice.RingOptions(prefetch=numpy.True_),
    lambda: sluice.SampleList.weighted([numpy.True_], 1, False),
])
def test_a_truth_value_is_not_accepted_as_a_number(call):
    with pytest.raises(TypeError, match="True"):
        call()
