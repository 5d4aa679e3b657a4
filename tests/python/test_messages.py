"""Errors of wrong calls name the argument and what it takes; messages and docstrings use Python's names, not C++'s."""

import io
import pathlib
import re

import numpy
import pytest
import sluice
from sluice import _command


@pytest.mark.parametrize("options, words", [
    ({"batch_sise": 3}, r"Loader\(\) has no option 'batch_sise'; did you mean 'batch_size'\?"),
    ({"shuffle": True}, r"no option 'shuffle'; use order=sluice.OrderOptions\(shuffle="),
    ({"drop_last": True}, r"use ranks=sluice.RankOptions\(last_batch=sluice.LastBatch.DROP\)"),
    ({"num_workers": 2}, r"use threads="),
    ({"batch_size": -1}, r"Loader\(\): batch_size takes a whole number from 0 to 18446744073709551615, not -1$"),
    ({"batch_size": "8"}, r"batch_size takes a whole number from 0, not '8'$"),
    ({"storage": "direct"}, r"storage takes sluice.Mapped \| sluice.Locked \| sluice.Direct, not 'direct'; write "
                            r"storage=sluice.Direct\(...\)$"),
    ({"storage": "fast"}, r"storage takes sluice.Mapped \| sluice.Locked \| sluice.Direct, not 'fast'$"),
    ({"order": sluice.Shuffle.RANDOM}, r"order takes sluice.OrderOptions, not sluice.Shuffle.RANDOM; write "
                                       r"order=sluice.OrderOptions\(shuffle='random'\)$"),
    ({"output": "nchw"}, r"; write output=sluice.OutputOptions\(layout='nchw'\)$"),
    ({"world_size": 2}, r"no option 'world_size'; use ranks=sluice.RankOptions\(world_size=\.\.\.\)$"),
    ({"on_fault": "skip"}, r"use integrity=sluice.IntegrityOptions\(on_fault="),
    ({"custom_fields": {}}, r"'custom_fields'; leave it out: a dataset names"),
    ({"batches_ahead": 3}, r"use ring=sluice.RingOptions\(prefetch="),
    ({"pipelines": {}}, r"use transform="),
    ({"os_cache": True}, r"use storage=sluice.Direct\(\) for os_cache=False"),
    ({"distributed": True}, r"use ranks=sluice.RankOptions"),
    ({"views": [3]}, r"views takes Sequence\[sluice.View\], not \[3\]$"),
])
def test_a_wrong_option_of_the_loader_is_named(raw, options, words):
    with pytest.raises(TypeError, match=words):
        sluice.Loader(raw, **options)


@pytest.mark.parametrize("step, words", [
    (sluice.RandomZoomOut(side_range=(4, 1)), "needs 1 <= side_range[0] <= side_range[1] <= 16, and has 4 and 1"),
    (sluice.ScaleJitter(64, scale_range=(3, 2)), "<= scale_range[0] <= scale_range[1] <= 100, and has 3 and 2"),
    (sluice.RandomIoUCrop(min_scale=2), "min_scale"),
    (sluice.RandomResizedCrop(8, scale=(0.5, 0.1)), "scale[0] <= scale[1]"),
    (sluice.RandomAffine(shear=(0, 0, 9, 1)), "shear[2] <= shear[3]"),
    (sluice.RandomAffine(shear=99), "shear[0] <= shear[1]"),
    (sluice.RandomAffine(translate=(0, 3)), "translate[1]"),
])
def test_a_parameter_of_a_step_has_pythons_name(raw, step, words):
    with pytest.raises(sluice.Error) as raised:
        sluice.Loader(raw, 4, transform=[step])
    assert words in str(raised.value)


@pytest.mark.parametrize("call, words", [
    (lambda raw: sluice.convert(raw, "x", qualty=3), r"convert\(\) has no option 'qualty'; did you mean 'quality'\?"),
    (lambda raw: sluice.convert(raw), r"convert\(\) needs 'dataset'"),
    (lambda raw: sluice.Loader(raw).epoch(-1), r"Loader.epoch\(\): epoch takes a whole number from 0 to 18446744073709551615, not -1$"),
    (lambda raw: sluice.Loader(raw, 8, 4), r"Loader\(\) takes 2 arguments without a keyword, and 3 are given"),
    (lambda raw: sluice.RandomResizedCrop(224, scale=3), r"RandomResizedCrop\(\): scale takes tuple\[float, float\], not 3$"),
    (lambda raw: sluice.RingOptions(holds=3), r"RingOptions\(\) has no option 'holds'; did you mean 'hold'\?"),
    (lambda raw: sluice.convert(raw, "x", classes=["a"]), r"use source = sluice.ConvertSource\(folder\) and source.label.classes = "),
    (lambda raw: sluice.convert(raw, "x", quality="keep"), r"not 'keep'; keep=True keeps a JPEG's own coefficients$"),
    (lambda raw: sluice.Mixture(str(raw)), "Mixture: parts is a list of datasets, not one: "),
    (lambda raw: sluice.Mixture(sluice.Dataset(raw)), "Mixture: parts is a list of datasets, not one: Dataset"),
    (lambda raw: sluice.Normalize(0.5), r"mean takes Sequence\[float\], not 0.5; write \[0.5\]$"),
    (lambda raw: sluice.Normalize(type=numpy.float16), r"not <class 'numpy.float16'>; write type='float16'$"),
    (lambda raw: sluice.Field.array("x", numpy.dtype("int8")), r"not dtype\('int8'\); write dtype='int8'$"),
    (lambda raw: sluice.Dataset(raw).find(3), r"Dataset.find\(\) takes a sample's key, a str, not 3$"),
    (lambda raw: sluice.Preprocess("center:8")(numpy.zeros((3, 9, 9, 4), numpy.uint8)[0].tolist()), "an image is the bytes of a file"),
    (lambda raw: sluice.Stage(), r"Stage\(\) needs 'folder': str"),
    (lambda raw: sluice.View("\ud800", "rrc:32"), r"View\(\): name takes text without lone surrogates, .* not '.ud800'$"),
])
def test_a_wrong_argument_of_another_function_is_named(raw, call, words):
    with pytest.raises(TypeError, match=words):
        call(raw)


BIG = 2**64
UINT64, UINT32 = "0 to 18446744073709551615", "0 to 4294967295"


@pytest.mark.parametrize("call, argument, numbers, given", [
    (lambda raw: sluice.Loader(raw, seed=BIG), "Loader(): seed", UINT64, BIG),
    (lambda raw: sluice.Loader(raw, BIG), "Loader(): batch_size", UINT64, BIG),
    (lambda raw: sluice.Loader(raw, threads=2**32), "Loader(): threads", UINT32, 2**32),
    (lambda raw: sluice.Loader(raw, threads=-1), "Loader(): threads", UINT32, -1),
    (lambda raw: sluice.Loader(raw).row(0, BIG), "Loader.row(): epoch", UINT64, BIG),
    (lambda raw: sluice.Loader(raw).samples_per_epoch(-1), "Loader.samples_per_epoch(): epoch", UINT64, -1),
    (lambda raw: next(iter(sluice.Loader(raw, 2))).has("label", -1), "Batch.has(): row", UINT64, -1),
    (lambda raw: next(iter(sluice.Loader(raw, 2))).wait_on(BIG), "Batch.wait_on(): stream", UINT64, BIG),
    (lambda raw: sluice.Mixture([raw]).of(BIG), "Mixture.of(): sample", UINT64, BIG),
    (lambda raw: sluice.Mixture([raw], samples=BIG), "Mixture(): samples", UINT64, BIG),
    (lambda raw: sluice.Dataset(raw, max_pixels=BIG), "Dataset(): max_pixels", UINT64, BIG),
    (lambda raw: sluice.SampleList.weighted([1.0], BIG, True), "SampleList.weighted(): count", UINT64, BIG),
    (lambda raw: sluice.SampleList.class_balanced(sluice.Dataset(raw), -1), "SampleList.class_balanced(): per_class", UINT64, -1),
    (lambda raw: sluice.OutputOptions(absent=2**63), "OutputOptions(): absent", f"{-2**63} to {2**63 - 1}", 2**63),
    (lambda raw: sluice.OutputOptions(mask_fill={"mask": 2**32}), "OutputOptions(): mask_fill", UINT32, 2**32),
    (lambda raw: sluice.RankOptions(rank=2**32), "RankOptions(): rank", UINT32, 2**32),
    (lambda raw: setattr(sluice.RingOptions(), "hold", -1), "RingOptions.hold", UINT64, -1),
    (lambda raw: setattr(sluice.ConvertSource("x").split, "seed", BIG), "SplitPart.seed", UINT64, BIG),
    (lambda raw: sluice.Resize(2**32), "Resize(): size", UINT32, 2**32),
    (lambda raw: sluice.Resize((2**32, 8)), "Resize(): size", UINT32, 2**32),
    (lambda raw: sluice.Field.array("x", "int32", [-1]), "Field.array(): shape", UINT32, -1),
    (lambda raw: sluice.convert(raw, "x", threads=2**32), "convert(): threads", UINT32, 2**32),
    (lambda raw: sluice.convert(raw, "x", size=(2**40, 8)), "convert(): size", UINT32, 2**40),
    (lambda raw: sluice.Writer("x", [], shard_bytes=BIG), "Writer(): shard_bytes", UINT64, BIG),
    (lambda raw: sluice.Writer("x", [], block_samples=-1), "Writer(): block_samples", UINT32, -1),
])
def test_a_number_out_of_range_is_named_with_its_range(raw, call, argument, numbers, given):
    with pytest.raises(TypeError) as raised:
        call(raw)
    assert str(raised.value) == f"{argument} takes a whole number from {numbers}, not {given}"


def test_no_method_or_constructor_answers_with_a_list_of_signatures():
    """nanobind's own error for wrong arguments lists C++ signatures. A function cannot raise it if it takes no arguments,
    if Python code wraps it, or if its last overload takes any arguments."""
    seen = 0
    for owner, kind in vars(sluice).items():
        for name, function in vars(kind).items() if isinstance(kind, type) else ():
            stated = getattr(function, "__nb_signature__", [("(self) ->",)])
            if name == "__init__":
                assert "*args, **kwargs" in stated[-1][0] or len(stated) == 1 and "(self) ->" in stated[0][0], owner
            elif name[0] != "_":
                assert all("(self) ->" in one[0] for one in stated), (owner, name)
            seen += 1
    assert seen > 300
    with pytest.raises(ValueError, match="quality is a whole number from 1 to 100, not 1099511627776"):
        sluice.Writer("x", [], quality=2**40)


def test_an_option_of_a_nested_group_is_named_as_it_is_written_in_python(raw):
    words = r"output=sluice.OutputOptions\(boxes=sluice.BoxRule\(min_visible=...\)\) must be 0 to 1$"
    with pytest.raises(sluice.Error, match=words):
        sluice.Loader(raw, output=sluice.OutputOptions(boxes=sluice.BoxRule(min_visible=2)))


def test_none_integers_and_empty_tuples_are_accepted_where_they_make_sense(raw):
    assert len(next(iter(sluice.Loader(raw, batch_size=4, transform=None, schedule=None, device=None, timeout=3, views=())))) == 4
    sluice.RandomResizedCrop(224, scale=(1, 1))


def test_messages_name_options_as_in_python(raw, jpeg):
    loader = sluice.Loader(raw, 4, ring=sluice.RingOptions(hold=1, prefetch=1))
    held = []
    with pytest.raises(sluice.Error, match=r"or raise ring=sluice.RingOptions\(hold=\.\.\.\)$"):
        for batch in loader:
            held.append(batch)
    with pytest.raises(sluice.Error, match=r"that Loader.state\(\) gave"):
        sluice.Loader(raw, resume_from="nonsense")
    with pytest.raises(sluice.Error, match=r"output=sluice.OutputOptions\(channels=\.\.\.\) must be 0, 1 or 3"):
        sluice.Loader(raw, output=sluice.OutputOptions(channels=7))
    skip = sluice.IntegrityOptions(on_fault=sluice.OnFault.SKIP)
    loader = sluice.Loader(raw, 10, sample_function=lambda sample: 1 / 0, integrity=skip)
    with pytest.raises(sluice.Error, match=r"integrity=sluice.IntegrityOptions\(on_fault=sluice.OnFault.SKIP\) .*Loader.faults\(\)"):
        list(loader)
    assert loader.faults()[0].reason.startswith("sample_function raised: ZeroDivisionError")


def test_messages_and_docstrings_have_no_words_of_cpp(raw, tmp_path):
    with pytest.raises(sluice.Error, match=r"or keep short batches \(ranks=sluice.RankOptions\(last_batch=sluice.LastBatch."
                                           r"KEEP\) or sluice.LastBatch.PAD\)"):
        ranks = sluice.RankOptions(0, 1, last_batch="drop")
        list(sluice.Loader(raw, 64, ranks=ranks))
    with pytest.raises(sluice.Error, match=r"progress.*: .*progressive_sizes\(\)|^progressive_sizes\(\)"):
        sluice.progressive_sizes(8, 64, 0, 4)

    def error_of_reading(name, how):
        def function(sample):
            getattr(sample, how)(name)

        with pytest.raises(sluice.Error) as raised:
            list(sluice.Loader(raw, 8, sample_function=function))
        return str(raised.value)

    assert "use field(), which is int32" in error_of_reading("label", "variable")
    assert "use variable(), which is float32" in error_of_reading("boxes", "field")
    assert "it holds bytes; use variable()" in error_of_reading("caption", "field")

    seen, cpp = [], re.compile(r"\w::\w|\bk[A-Z][a-z]|\w\.h\b|std::|\w<\w")

    def read(name, thing):
        doc = getattr(thing, "__doc__", None)
        if isinstance(doc, str):
            seen.append(name)
            assert not cpp.search(doc), (name, doc)

    for name, thing in vars(sluice).items():
        if name[0] == "_":
            continue
        read(name, thing)
        for inner, part in vars(thing).items() if isinstance(thing, type) else ():
            if inner[0] != "_":
                read(f"{name}.{inner}", part)
    assert len(seen) > 200


def test_a_transform_that_is_not_a_list_is_shown_in_the_error(raw):
    class Compose:
        pass

    with pytest.raises(sluice.Error, match="a transform is a list of steps such as .* this is not such a list: .*Compose"):
        sluice.Loader(raw, 8, transform=Compose())


@pytest.mark.parametrize("values, words", [
    ({"image": "photo.jpg"}, "field 'image' takes an image of Pillow, the bytes of a JPEG file, or an array"),
    ({"label": "cat"}, "field 'label' holds .*, not 'cat' .a class is given by its number.$"),
    ({"caption": 5}, "field 'caption' takes str or bytes, not 5$"),
])
def test_a_value_that_a_writer_cannot_store_is_named_with_its_field(tmp_path, values, words):
    fields = [sluice.Field.image(), sluice.Field.label("label", ["cat", "dog"]), sluice.Field.bytes("caption", "text")]
    with sluice.Writer(tmp_path / "made", fields) as writer:
        with pytest.raises((TypeError, ValueError), match=words):
            writer.add("key", values)
        writer.add(b"key", label=1)
    assert sluice.Dataset(tmp_path / "made")[0].key == "key"


def test_the_verdict_names_options_as_in_python(raw):
    loader = sluice.Loader(raw, 5, ring=sluice.RingOptions(prefetch=1), threads=2)
    for _ in loader:
        pass
    stats = loader.stats()
    assert "::" not in stats.verdict and repr(stats) == stats.verdict


@pytest.mark.parametrize("call", [
    lambda raw: sluice.Loader(raw, 8, transform="\ud800"),
    lambda raw: sluice.Loader(raw, 8, device="\ud800"),
    lambda raw: sluice.Loader(raw, 8, schedule="\ud800"),
    lambda raw: sluice.Loader(raw, 8, transform=["\ud800"]),
    lambda raw: sluice.Loader(raw, 8, schedule=["\ud800"]),
    lambda raw: sluice.Loader(raw, 8, sample_function="\ud800"),
    lambda raw: sluice.OutputOptions(layout="\ud800"),
    lambda raw: sluice.Mixture([3]),
    lambda raw: sluice.Mixture([(raw, "\ud800")]),
])
def test_a_value_of_the_wrong_kind_is_shown_in_a_readable_sentence(raw, call):
    with pytest.raises((sluice.Error, TypeError)) as raised:
        call(raw)
    assert "bad_cast" not in str(raised.value) and ("ud800" in str(raised.value) or "not 3" in str(raised.value))


def test_an_error_shows_only_the_beginning_of_a_long_value(raw):
    for call in (lambda: sluice.SampleList.weighted([True] * 100_000, 5, True), lambda: sluice.Loader([raw] * 1000, 8),
                 lambda: setattr(sluice.OrderOptions(), "shuffle", "x" * 100_000)):
        with pytest.raises(TypeError, match=r"not .*\.\.\.") as raised:
            call()
        assert len(str(raised.value)) < 1000


@pytest.mark.parametrize("run, option", [
    (_command.sluice, "SLUICE_BUILD_TOOLS"),
    (_command.sluice_bench, "SLUICE_BUILD_BENCH"),
])
def test_a_command_that_was_not_built_says_how_to_get_it(tmp_path, monkeypatch, run, option):
    monkeypatch.setattr(_command, "__file__", str(tmp_path / "_command.py"))
    with pytest.raises(SystemExit, match=rf"not built with it.*\n.*pip install .*-C cmake\.define\.{option}=ON"):
        run()


def test_key_points_and_masks_need_an_option_that_is_named_in_python(tmp_path):
    points = sluice.Field.variable("points", "float32", (3, 2), "keypoints", "image")
    with sluice.Writer(tmp_path / "d", [sluice.Field.image(), points, sluice.Field.mask("mask", "image")],
                       image="raw") as writer:
        for number in range(2):
            mask = {} if number else {"mask": numpy.full((4, 4, 1), 3, numpy.uint8)}
            writer.add(str(number), {"image": numpy.zeros((4, 4, 3), numpy.uint8),
                                     "points": numpy.array([[[1, 2], [2, 2], [3, 2]]], numpy.float32), **mask})
    with pytest.raises(sluice.Error, match=r"mask_fill=\.\.\.") as error:
        sluice.Loader(tmp_path / "d", 2)
    assert "::" not in str(error.value)
    masks = {"mask": 255}
    with pytest.raises(sluice.Error, match=r"flip_pairs=\.\.\.") as error:
        sluice.Loader(tmp_path / "d", 2, transform=[sluice.HorizontalFlip(1)],
                      output=sluice.OutputOptions(mask_fill=masks))
    assert "::" not in str(error.value)
    loader = sluice.Loader(tmp_path / "d", 2, transform=[sluice.HorizontalFlip(1)],
                           output=sluice.OutputOptions(mask_fill=masks, flip_pairs="0-2"))
    for batch in loader:
        assert batch["points"][0].tolist() == [[[1, 2], [2, 2], [3, 2]]]
        assert sorted(batch["mask"].numpy()[:, 0, 0, 0].tolist()) == [3, 255]


@pytest.mark.parametrize("call, words", [
    (lambda batch, sample: batch[0], r"a batch's fields by name, such as batch\[\"image\"\].*, not by 0$"),
    (lambda batch, sample: sample[None], r"a sample's fields by name, such as sample\[\"image\"\], not by None$"),
    (lambda batch, sample: batch["boxes"][1:3], r"by its row, r\[0\], .* r.values, .*not by slice\(1, 3, None\)$"),
])
def test_a_wrong_index_is_answered_with_what_to_write(raw, call, words):
    batch, sample = next(iter(sluice.Loader(raw, 4))), sluice.Dataset(raw)[0]
    with pytest.raises(TypeError, match=words):
        call(batch, sample)
    assert 3 not in batch and None not in sample and "image" in batch and "image" in sample


def test_a_missing_attribute_is_answered_with_what_to_write(raw):
    batch = next(iter(sluice.Loader(raw, 4)))
    for one, name, words in [
        (batch, "image", r"'Batch' object has no attribute 'image': a batch has its fields by name"),
        (batch["image"], "mean", r"'Array' object has no attribute 'mean': use .numpy\(\) or .torch\(\)"),
        (batch["boxes"], "numpy", r"'Ragged' object has no attribute 'numpy': .*r.values"),
        (sluice.Dataset(raw)[0], "image", r"'Sample' object has no attribute 'image': .*sample\['image'\]"),
    ]:
        with pytest.raises(AttributeError, match=words):
            getattr(one, name)
        assert not hasattr(one, "__array_struct__")


@pytest.mark.parametrize("given, words", [
    ("photo.jpg", r"not 'photo.jpg'; of a file, give its bytes: open\(path, \"rb\"\).read\(\)$"),
    (pathlib.Path("photo.jpg"), r"of a file, give its bytes"),
    (io.BytesIO(b"x"), r"getvalue\(\) of a BytesIO$"),
    (None, "not None$"),
    (numpy.zeros((3, 9, 9), numpy.float32), "not 3 x 9 x 9 of float32$"),
    (numpy.zeros((9, 9), bool), "not 9 x 9 of bool$"),
    (numpy.zeros((9, 9, 4), numpy.uint8), r"the array has 4 channels, and the pipeline's rows 3; give 1 or 3, such as image\[..., :3\]"),
])
def test_preprocess_says_what_an_image_is_and_what_it_got(given, words):
    preprocess = sluice.Preprocess("center:8")
    for call in (lambda: preprocess(given)), (lambda: preprocess.rows([given])):
        with pytest.raises((TypeError, sluice.Error), match=words):
            call()
    for one in "photo.jpg", b"bytes", 3:
        with pytest.raises(TypeError, match=r"rows\(\) takes a list of images; for one image, call the Preprocess"):
            preprocess.rows(one)
    with pytest.raises(sluice.Error, match=r'"pipeline.json" seems to be a file; give open\(path\).read\(\)'):
        sluice.Preprocess("pipeline.json")
    for path in "photo.jpg", "/data/photos/7.PNG":
        with pytest.raises(sluice.Error, match=r"takes a pipeline.*seems to be a picture's file; make the Preprocess of"):
            sluice.Preprocess(path)
    with pytest.raises(sluice.Error, match="makes a different row each time"):
        sluice.Preprocess("center:8,jitter:0.4")  # no path, though it has a point


def test_preprocess_says_how_to_give_an_image_of_pillow():
    image = pytest.importorskip("PIL.Image").new("RGB", (9, 9))
    preprocess = sluice.Preprocess("center:8")
    with pytest.raises(TypeError, match=r"of an image of Pillow, give numpy.asarray\(image.convert\("):
        preprocess(image)
    assert preprocess(numpy.asarray(image.convert("RGB"))).shape == (8, 8, 3)


@pytest.mark.parametrize("steps, words", [
    (sluice.Resize(8), r"not such a list \(put it into \[ \]\): sluice.Resize\(8\)$"),
    (["rrc:16", "flip"], "write all steps as one text, such as \"rrc:224,flip\""),
    ([sluice.HorizontalFlip], r"call the class, such as sluice.HorizontalFlip\(\)"),
])
def test_a_transform_that_is_nearly_right_is_answered_with_what_to_write(raw, steps, words):
    with pytest.raises(sluice.Error, match=words):
        sluice.Loader(raw, 8, transform=steps)


@pytest.mark.parametrize("option, words", [
    ({"write_mode": "smart"}, "use image='raw'"),
    ({"max_resolution": 500}, "use max_side="),
    ({"jpeg_quality": 90}, "use quality="),
    ({"num_workers": 8}, "use threads="),
    ({"chunksize": 100}, "'chunksize'; leave it out"),
])
def test_options_of_ffcvs_writer_are_answered_with_those_of_convert(tmp_path, option, words):
    with pytest.raises(TypeError, match=f"convert\\(\\) has no option .*{words}"):
        sluice.convert(tmp_path, tmp_path / "made", **option)


ROOT = pathlib.Path(__file__).parents[2]


def test_names_of_torchvision_pytorch_and_ffcv_are_answered_with_ours():
    page = (ROOT / "reader/TRANSFORMS.md").read_text()
    rows = re.findall(r"^\| (`.*?) \|", page[page.index("## Next to torchvision's names"):], flags=re.M)
    guide = (ROOT / "samples/guides/from-ffcv.md").read_text()
    table = " ".join(line.split("|")[1] for line in guide.splitlines() if line.startswith("| `"))
    of_ffcv = set(re.findall(r"\b[A-Z]\w+(?=\(|\.[A-Z])", table)) - {"Loader"}
    names = set(re.findall(r"`(\w+)`", " ".join(rows))) | of_ffcv | {"DataLoader", "ImageFolder"}
    seen = 0
    for name in names - set(vars(sluice)):
        with pytest.raises(AttributeError) as raised:
            getattr(sluice, name)
        words = str(raised.value)
        assert words.startswith(f"module 'sluice' has no attribute '{name}'; ")
        assert "; use " in words or "; it is not" in words or "did you mean" in words, words
        seen += 1
    assert seen > 40
    from sluice import _names
    for name, words in _names._ELSEWHERE.items():
        assert name not in vars(sluice), name
        for ours in re.findall(r"sluice\.(\w+)", words):
            assert ours == "torch" or hasattr(sluice, ours), (name, ours)
    with pytest.raises(AttributeError, match="did you mean 'HorizontalFlip'"):
        sluice.horizontalflip
    with pytest.raises(AttributeError, match=r"has no attribute 'Nonsense'$"):
        sluice.Nonsense
    with pytest.raises(AttributeError, match="write `import sluice.torch`"):
        __import__("sluice._names") and sluice.__getattr__("torch")


# In texts that Python code cannot get: options that Python sets itself, functions that it does not have, other programs.
NOT_FOR_PYTHON = re.compile(r"PreprocessOptions::|SampleList::Where|\w+codeOptions::|Dataset::Open: null|sluice::DatasetWriter$|"
                            r"Variable<T>\(\), $|Field<T>\(\), where T is $|std::exception|\[fd00:")


def test_no_message_of_the_libraries_keeps_words_of_cpp():
    """All texts in the libraries' sources, as Python words them."""
    from sluice import _sluice

    cpp, seen = re.compile(r"\w::\w|\bk[A-Z][a-z]\w*|std::"), 0
    for file in (file for folder in ("format", "reader", "writer") for file in sorted((ROOT / folder).rglob("*.cpp"))):
        if "python/binding" in file.as_posix():
            continue
        source = re.sub(r"^\s*(//|#include).*$|'\"'", "", file.read_text(), flags=re.M)
        for literal in re.findall(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*', source):
            text = "".join(re.findall(r'"((?:[^"\\\n]|\\.)*)"', literal)).replace('\\"', '"')
            if " " not in text or NOT_FOR_PYTHON.search(text):
                continue
            words = _sluice._in_pythons_words(text)
            assert not cpp.search(words), (file.name, words)
            seen += 1
    assert seen > 500


def test_the_description_of_a_loader_and_warnings_use_pythons_words():
    from sluice import _sluice

    for text, words in [
        ("all files (ConvertSource::Paths)", "all files (sluice.ConvertSource.paths)"),
        ("use a --quality below 90, or fewer pixels (--max-side, --short-side)", "use a quality below 90, or fewer pixels"),
        ("name it by --path-column", "name it by ConvertSource.rows.path_column"),
        ("set length to kSamples (\"samples\"), too", "set length to sluice.MixtureLength.SAMPLES, too"),
    ]:
        assert _sluice._in_pythons_words(text) == words


def test_a_file_is_not_a_folder_of_images_and_a_tilde_is_not_the_home_folder(tmp_path):
    (tmp_path / "x.tar").write_bytes(b"x")
    with pytest.raises(sluice.Error, match=r"an archive \(tar, .*\) sluice.ConvertSource.archives\(\[file\]\)"):
        sluice.convert(tmp_path / "x.tar", tmp_path / "made")
    with pytest.raises(sluice.Error, match="~ is not the home folder in a program; give the whole path"):
        sluice.Dataset("~/nowhere")
    with pytest.raises(sluice.Error, match="the path of the dataset is empty"):
        sluice.Dataset("")
