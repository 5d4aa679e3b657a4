"""Python has every option, statistic and enumerator of C++: the structs and enumerations in the headers are compared
with Python's stub. This file names the members that Python leaves out on purpose."""

import ast
import pathlib
import re

import pytest
import sluice

ROOT = pathlib.Path(__file__).parents[2]
STUB = ast.parse((pathlib.Path(sluice.__file__).parent / "_sluice.pyi").read_text())


def headers():
    for folder in "format", "reader", "writer":
        for file in sorted((ROOT / folder / "include/sluice").glob("*.h")):
            yield re.sub(r"//.*", "", file.read_text())


def bodies(pattern):
    return [found for text in headers() for found in re.findall(pattern, text, flags=re.M | re.S)]


STRUCTS = dict(bodies(r"^struct (\w+) \{(?:\};|(.*?)^\};)"))
ENUMS = bodies(r"^ *enum class (\w+)(?: : [\w: ]+)? \{(.*?)\}")


def members(struct):
    """The data members, in the order of the header."""
    body = re.sub(r"\{[^{}]*\}", "", re.sub(r"\([^()]*\)", "()", STRUCTS[struct]))  # drops parameters, defaults in {}
    return [name for names in re.findall(r"^  (?!friend|static|using|enum)[\w:<>, ]+? (\w+(?: = [^;,]*)?(?:, \w+(?: = [^;,]*)?)*)(?: = [^;]*)?;",
                                         body, flags=re.M)
            for name in re.findall(r"(\w+)(?: = [^;,]*)?(?:, |$)", names)]


def functions(nodes):
    return [node for node in nodes if isinstance(node, ast.FunctionDef)]


CLASSES = {node.name: functions(node.body) for node in STUB.body if isinstance(node, ast.ClassDef)}


def keywords(name):
    """The parameters of a class's __init__, or of a function."""
    made = [f for f in CLASSES.get(name, functions(STUB.body)) if f.name == ("__init__" if name in CLASSES else name)]
    assert made, name
    return {one.arg for f in made for one in f.args.args + f.args.kwonlyargs} - {"self"}


def attributes(name):
    return {f.name for f in CLASSES[name] if not f.name.startswith("_")}


def test_this_test_finds_the_members_of_a_struct():
    assert members("RankOptions") == ["rank", "world_size", "last_batch", "by_shards"]
    assert "timeout" in members("LoaderOptions") and len(members("LoaderOptions")) == 24
    assert "epoch_samples_of_all" in members("LoaderStats")
    assert members("RandomErasing") == ["probability", "min_scale", "max_scale", "min_ratio", "max_ratio", "value", "noise"]


OPTIONS = {
    "LoaderOptions": "Loader",
    **{group: "convert" for group in ("GeometryOptions", "FormOptions", "ShardOptions", "RunOptions")},
    "ReadLimits": "Dataset",
    **{name: name for name in ("OrderOptions", "RankOptions", "View", "Mapped", "Locked", "Direct", "DecodedPictures",
                               "Stage", "SharedRows", "RingOptions", "OutputOptions", "BoxRule", "IntegrityOptions",
                               "OnDevice", "DiagnosticsOptions", "Column", "RowOptions", "LabelFiles", "LabelOptions", "SplitPart",
                               "AnnotationParts", "OutputSize", "SkippedBatches")},
    "MetricsOptions": "Metrics",
}


@pytest.mark.parametrize("struct, made_by", OPTIONS.items(), ids=OPTIONS)
def test_every_option_is_a_keyword(struct, made_by):
    assert set(members(struct)) - keywords(made_by) == set()


def test_every_struct_of_options_is_compared():
    structs = {name for name in STRUCTS if name.endswith(("Options", "Limits"))}
    without = {
        "ColumnOptions",         # keywords of Dataset.add_column()
        "ConvertOptions",        # its groups are in OPTIONS
        "DatasetWriterOptions",  # of sluice.Writer: compared below
        "FilterOptions",         # of SampleList::Where(), which Python lacks
        "PlayOptions",           # of sluice.Source: compared below
        "PreprocessOptions",     # of sluice.Preprocess
        "SplitFolderOptions",    # keywords of find_split_folders()
        # Python leaves copying, verifying and editing whole datasets to the command.
        "CopyOptions", "MergeOptions", "PartOptions", "TranscodeOptions", "VerifyOptions",
    }
    assert structs - set(OPTIONS) == without


def test_every_option_of_the_writer_is_a_keyword():
    import inspect

    assert set(members("DatasetWriterOptions")) <= set(inspect.signature(sluice.Writer).parameters)


def test_every_option_of_a_source_that_plays_is_a_keyword():
    groups = {"geometry", "form", "shards"}
    of_groups = {name for group in ("GeometryOptions", "FormOptions", "ShardOptions") for name in members(group)}
    without = {"on_warning", "on_look"}  # on_warning: Python issues warnings instead
    assert (set(members("PlayOptions")) | of_groups) - groups - without <= keywords("Source")


def test_every_part_of_a_source_is_an_attribute():
    by_function = {"table", "paths", "archives"}  # set by ConvertSource.table() and so on
    assert set(members("ConvertSource")) - attributes("ConvertSource") <= by_function
    assert by_function <= attributes("ConvertSource")


def test_every_former_name_leads_to_the_current_one():
    from sluice import _arguments

    source = sluice.ConvertSource("a")
    for name, now in _arguments._MOVED.items():
        group, member = now.split(".")
        assert hasattr(getattr(source, group), member) and not hasattr(source, name)
        with pytest.raises(AttributeError, match=f"ConvertSource.{name} is called ConvertSource.{now}$"):
            setattr(source, name, None)


def test_a_former_word_of_a_column_is_an_error_that_lists_the_current_ones():
    assert sluice.Column("n", "int").type == sluice.ColumnType.INT
    with pytest.raises(TypeError, match="type takes .*'int' . 'float' . 'floats' .*, not 'integer'"):
        sluice.Column("n", "integer")
    with pytest.raises(TypeError, match="boxes takes 'xyxy' . 'xywh' . 'cxcywh', not 'corners'"):
        sluice.Column("box", "boxes", boxes="corners")


@pytest.mark.parametrize("struct", ["LoaderStats", "SampleFault", "ConvertSummary", "LeftOut", "Duplicate", "TraceEvent"])
def test_every_member_of_a_result_is_an_attribute(struct):
    assert set(members(struct)) - attributes(struct) == set()


def test_memory_has_every_member_of_loader_memory(raw):
    assert set(sluice.Loader(raw, 8).memory()) == set(members("LoaderMemory")) | {"own"}


def test_every_enumerator_exists():
    strings = {"ErrorCode", "DType", "FieldKind", "Role", "PixelType", "Codec", "ElementType"}
    # Of merging; of how options are declared; of Metrics, which chooses by the request.
    without = {"Duplicates", "Changes", "NumberForm", "MetricsFormat"}
    kinds = [sluice.ConvertSource.Kind, sluice.TraceEvent.Kind]
    for name, body in ENUMS:
        names = re.findall(r"\bk([A-Z0-9]\w*)", body)
        python = {re.sub(r"(?<=[a-z])(?=[A-Z])", "_", one).upper() for one in names}
        python = {("S" if one[0].isdigit() else "") + one for one in python}
        if name in strings | without or (name == "Kind" and "CUDA" in python):
            continue  # the kind of a device is a string, too
        forms = kinds if name == "Kind" else [getattr(sluice, name)]
        assert python in [{one.name for one in form} for form in forms], name


def test_every_step_accepts_all_of_its_parameters():
    step = re.search(r"using Transform =\s*std::variant<(.*?)>;", "\n".join(headers()), flags=re.S).group(1)
    torchvisions = {"width": "size", "height": "size", "probability": "p", "border": "padding_mode", "kernel": "kernel_size",
                    "factor": "sharpness_factor", "operations": "num_ops", "bins": "num_magnitude_bins", "deviation": "std",
                    "side": "size", "scale_up": "scaleup"}
    its_own = {  # torchvision's, too
        "RandomZoomOut": {"side": "side_range"},
        "RandomAffine": {"shear_x": "shear", "shear_y": "shear"},
        "ScaleJitter": {"scale": "scale_range", "target_width": "target_size", "target_height": "target_size"},
    }
    for name in re.split(r",\s*", step):
        wanted = set()
        for member in members(name):
            of_range = re.fullmatch(r"(?:min|max)_(\w+)", member)
            plain = re.sub(r"^translate_[xy]$", "translate", member)
            word = of_range.group(1) if of_range else torchvisions.get(plain, plain)
            wanted.add(member if name in ("RandomIoUCrop", "RandomShortestSize") else its_own.get(name, {}).get(word, word))
        assert wanted == keywords(name), name
