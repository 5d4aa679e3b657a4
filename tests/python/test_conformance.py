"""What the reader delivers of each dataset of tests/format/conformance.py, which was written from FORMAT.md alone."""

import sys
from pathlib import Path

import pytest
import sluice

sys.path.append(str(Path(__file__).parents[1] / "format"))
try:
    import conformance
except SystemExit:
    pytest.skip("the module xxhash is not installed", allow_module_level=True)


@pytest.fixture(scope="module")
def kit(tmp_path_factory):
    folder = tmp_path_factory.mktemp("conformance")
    conformance.write_all(folder)
    return folder


def or_fault(read):
    """The result as the kit writes it: None, hexadecimal, an image's object, or "fault"."""
    try:
        value = read()
    except sluice.Error:
        return "fault"
    if value is None or isinstance(value, dict):
        return value
    return (value if isinstance(value, bytes) else value.encode() if isinstance(value, str) else value.tobytes()).hex()


def value_of(sample, field):
    try:
        value = sample[field["name"]]
    except TypeError:  # Pillow has no colour images of 16 bits
        value = b""
    if value is None or field["kind"] == "bytes":
        return value
    value = sample.array(field["name"])
    if field["kind"] != "image":
        return value
    height, width, channels = (*value.shape, 1)[:3]
    return {"width": width, "height": height, "channels": channels, "pixel_type": str(value.dtype),
            "pixels": value.tobytes().hex()}


@pytest.mark.parametrize("case", conformance.CASES, ids=lambda case: case[0])
def test_the_reader_agrees_with_the_verdicts(kit, case):
    name, _, what, opens, _, made = case
    if not opens:
        with pytest.raises(sluice.Error):
            sluice.Dataset(kit / name)
        return
    dataset = sluice.Dataset(kit / name)
    expected = made.expected()
    assert len(dataset) == len(expected)
    for number, of_sample in enumerate(expected):
        assert or_fault(lambda: dataset[number].key) == of_sample["key"], what
        for field in made.fields:
            wanted = of_sample["values"][field["name"]]
            if wanted != "any":
                assert or_fault(lambda: value_of(dataset[number], field)) == wanted, (what, number, field["name"])
