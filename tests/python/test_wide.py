"""Images of any type and number of channels: stored exactly, cropped exactly, resized in double precision."""

import json
import os
import pathlib
import subprocess
import sys

import numpy
import pytest
import sluice

TYPES = ("uint8", "uint16", "int16", "float16", "float32")
BITS = {1: numpy.uint8, 2: numpy.uint16, 4: numpy.uint32}


def bits(pixels):
    return numpy.ascontiguousarray(pixels).view(BITS[pixels.dtype.itemsize])


def picture(dtype, height, width, channels, seed=0):
    """Smooth values with noise; of floats, some are NaN, infinite and -0.0."""
    draws = numpy.random.default_rng(seed)
    y, x, c = numpy.mgrid[:height, :width, :channels]
    values = 40 * x + 25 * y + 900 * c + draws.integers(0, 50, (height, width, channels)) - (dtype == "int16") * 20000
    if dtype == "uint8":
        values = values // 16 % 256
    pixels = values.astype(dtype)
    if dtype.startswith("float"):
        pixels = (pixels / 64).astype(dtype)
        flat = pixels.reshape(-1)
        flat[5:9] = [numpy.nan, numpy.inf, -numpy.inf, -0.0]
    return pixels


def write(path, images, field=None, **options):
    with sluice.Writer(path, [field or sluice.Field.image()], **options) as writer:
        for i, pixels in enumerate(images):
            writer.add(f"{i:03}", {(field or sluice.Field.image()).name: pixels})
    return path


def rows(path, transform=(), batch=None, epoch=0, **output):
    loader = sluice.Loader(
        path, batch or 1, transform=list(transform), output=sluice.OutputOptions(**output),
        order=sluice.OrderOptions("sequential"), threads=2,
    )
    return [numpy.array(batch["image"]) for batch in loader.epoch(epoch)]


def weights(start, length, size, out):
    """The matrix of the anti-aliased triangle filter along one axis."""
    scale = length / out
    reach = max(1.0, scale)
    centre = start + (numpy.arange(out)[:, None] + 0.5) * scale
    matrix = numpy.clip(1 - abs(numpy.arange(size)[None] + 0.5 - centre) / reach, 0, None)
    return matrix / matrix.sum(1, keepdims=True)


def resized(pixels, height, width):
    """Resized in double precision, height x width x channels."""
    down, across = weights(0, pixels.shape[0], pixels.shape[0], height), weights(0, pixels.shape[1], pixels.shape[1], width)
    return numpy.stack([down @ plane @ across.T for plane in pixels.astype(float).transpose(2, 0, 1)], 2)


@pytest.mark.parametrize("image", ["jpeg", "raw"])
@pytest.mark.parametrize("dtype", TYPES)
def test_pixels_come_back_with_their_bits(tmp_path, dtype, image):
    for channels in (1, 3, 5, 13, 64):
        if dtype == "uint8" and channels <= 4:
            continue
        images = [picture(dtype, 70, 151, channels, seed) for seed in range(3)]
        path = write(tmp_path / f"{channels}", images, image=image)
        dataset = sluice.Dataset(path)
        for sample, pixels in zip(dataset, images):
            array = sample.array("image")
            assert array.dtype == dtype
            assert (bits(array.reshape(pixels.shape)) == bits(pixels)).all()
        for layout in ("nhwc", "nchw"):
            batch = numpy.concatenate(rows(path, batch=3, layout=layout))
            wanted = numpy.stack(images)
            wanted = wanted.transpose(0, 3, 1, 2) if layout == "nchw" else wanted
            assert batch.dtype == dtype
            assert (bits(batch) == bits(wanted)).all()


@pytest.mark.parametrize("dtype", TYPES)
def test_crops_and_flips_copy_values(tmp_path, dtype):
    pixels = picture(dtype, 300, 280, 5)
    path = write(tmp_path / "data", [pixels])
    cut = rows(path, [sluice.CenterCrop(150)])[0][0]
    assert (bits(cut) == bits(pixels[75:225, 65:215])).all()
    flipped = rows(path, [sluice.CenterCrop(150), sluice.HorizontalFlip(1), sluice.VerticalFlip(1)], layout="nchw")[0][0]
    assert (bits(flipped) == bits(pixels[75:225, 65:215][::-1, ::-1].transpose(2, 0, 1))).all()
    # A random crop is a slice somewhere, turned by quarters.
    turned = rows(path, [sluice.RandomCrop(64), sluice.RandomQuarterTurns()])[0][0]
    slices = numpy.lib.stride_tricks.sliding_window_view(bits(pixels)[..., 4], (64, 64))
    found = [
        (turn, y, x)
        for turn in range(4)
        for y, x in numpy.argwhere((slices[:, :, 0, 0] == numpy.rot90(bits(turned)[..., 4], turn)[0, 0]))
        if (bits(pixels[y : y + 64, x : x + 64]) == numpy.rot90(bits(turned), turn)).all()
    ]
    assert len(found) == 1


@pytest.mark.parametrize("dtype", ("uint16", "int16", "float16", "float32"))
def test_resizing_is_within_a_unit_in_the_last_place(tmp_path, dtype):
    pixels = numpy.nan_to_num(picture(dtype, 173, 211, 3), nan=1, posinf=2, neginf=3)
    path = write(tmp_path / "data", [pixels])
    for height, width in ((64, 80), (50, 300), (173, 90), (400, 333)):
        wanted = resized(pixels, height, width)
        got = rows(path, [sluice.Resize((height, width)), sluice.Normalize([0], [1])])[0][0]
        unit = numpy.spacing(numpy.float32(abs(wanted).max()))
        assert abs(got - wanted).max() <= unit
        stored = rows(path, [sluice.Resize((height, width))])[0][0]
        assert stored.dtype == dtype
        if dtype == "float16":
            assert abs(stored.astype(float) - wanted).max() <= numpy.spacing(numpy.float16(abs(wanted).max())) / 2 + unit
        elif dtype != "float32":
            ties = abs(wanted - numpy.floor(wanted) - 0.5) < unit
            assert (stored == numpy.rint(wanted))[~ties].all()


def holes(height, width, seed):
    draws = numpy.random.default_rng(seed)
    invalid = draws.random((height, width)) < 0.05
    invalid[20:60, 30:90] = True
    invalid[70:90, 5:25] = numpy.indices((20, 20)).sum(0) % 2
    return invalid


@pytest.mark.parametrize("dtype,no_data", [("float32", -9999), ("float32", numpy.nan), ("int16", -9999), ("uint16", 0)])
def test_no_data_never_mixes_with_values(tmp_path, dtype, no_data):
    values = numpy.random.default_rng(1).uniform(100, 3000, (120, 130, 2)).astype(dtype)
    invalid = holes(120, 130, 2)
    values[invalid] = no_data
    field = sluice.Field.image(no_data=float(no_data))
    path = write(tmp_path / "data", [values], field)
    for height, width in ((37, 40), (60, 65), (204, 221)):
        valid = numpy.repeat(~invalid[..., None], 2, 2)
        share = resized(valid, height, width)
        mean = resized(numpy.where(valid, values, 0), height, width) / numpy.maximum(share, 1e-9)
        got = rows(path, [sluice.Resize((height, width))])[0][0]
        lacking = numpy.isnan(got) if numpy.isnan(no_data) else got == no_data
        clear = abs(share - 0.5) > 1e-6
        assert (lacking == (share < 0.5))[clear].all()
        both = ~lacking & (share >= 0.5)
        tolerance = numpy.spacing(numpy.float32(3000)) if dtype == "float32" else 0.5 + 1e-3
        assert abs(got.astype(float) - mean)[both].max() <= tolerance
        numbers = rows(path, [sluice.Resize((height, width)), sluice.Normalize([1000], [500])])[0][0]
        assert (numbers[lacking] == 0).all()
        assert abs(numbers - (mean - 1000) / 500)[both].max() <= 1e-5
    padded = rows(path, [sluice.CenterCrop(150)])[0][0]
    assert (bits(padded[15:135, 10:140]) == bits(values)).all()
    padded[15:135, 10:140] = no_data
    assert (numpy.isnan(padded) if numpy.isnan(no_data) else padded == no_data).all()


def test_bands_are_chosen_by_name(tmp_path):
    names = [f"B{c:02}" for c in range(1, 14)]
    pixels = picture("uint16", 150, 140, 13)
    path = write(tmp_path / "data", [pixels], sluice.Field.image(channels=names))
    assert sluice.Dataset(path).fields[0].attributes == {"channels": ",".join(names)}
    for layout in ("nhwc", "nchw"):
        got = rows(path, [sluice.CenterCrop(130)], bands={"image": ["B04", "B03", "B13", "B04"]}, layout=layout)[0][0]
        wanted = pixels[10:140, 5:135][..., [3, 2, 12, 3]]
        assert (got == (wanted if layout == "nhwc" else wanted.transpose(2, 0, 1))).all()
    means = [100.0, 2000.0]
    numbers = rows(path, [sluice.Normalize(means, [50])], bands={"image": ["B08", "B01"]})[0][0]
    assert (numbers == ((pixels[..., [7, 0]] - numpy.array(means)) / 50).astype("float32")).all()

    def refusal(transform=(), **output):
        with pytest.raises(sluice.Error) as raised:
            rows(path, transform, **output)
        return str(raised.value)

    assert 'no channel "B4"' in refusal(bands={"image": ["B4"]})
    said = refusal([sluice.Normalize([0.5, 0.5, 0.5])])
    assert "3 numbers as mean" in said and "13 channels" in said
    for step in (sluice.Invert(), sluice.Solarize(), sluice.Posterize(4), sluice.ColorJitter(0.1, 0.1, 0.1), sluice.RandAugment()):
        said = refusal([step])
        assert type(step).__name__ in said and 'field "image"' in said
    assert "fill" in refusal([sluice.RandomCrop(200, fill=(1, 2, 3))])


def test_a_field_without_names_refuses_bands(tmp_path):
    path = write(tmp_path / "data", [picture("uint16", 20, 20, 3)])
    with pytest.raises(sluice.Error, match='no attribute "channels"'):
        rows(path, bands={"image": ["red"]})


@pytest.mark.parametrize("dtype", ("uint16", "float32"))
def test_steps_change_values_in_their_own_scale(tmp_path, dtype):
    pixels = numpy.nan_to_num(picture(dtype, 64, 72, 3), nan=1, posinf=2, neginf=3)
    path = write(tmp_path / "data", [pixels])
    values = pixels.astype(float)
    plain = sluice.Normalize([0], [1])

    bright = rows(path, [sluice.ColorJitter(0.5), plain])[0][0]
    factor = bright[10, 10, 1] / values[10, 10, 1]
    assert 0.5 <= factor <= 1.5 and factor != 1
    assert numpy.allclose(bright, values * factor, rtol=1e-6)

    contrast = rows(path, [sluice.ColorJitter(0, 0.5), plain])[0][0]
    mean = values.mean((0, 1))
    factor = (contrast[10, 10, 0] - mean[0]) / (values[10, 10, 0] - mean[0])
    assert 0.5 <= factor <= 1.5 and factor != 1
    assert numpy.allclose(contrast, mean + factor * (values - mean), rtol=1e-4, atol=1e-2)

    blurred = rows(path, [sluice.GaussianBlur(5, (1.5, 1.5)), plain])[0][0]
    kernel = numpy.exp(-((numpy.arange(5) - 2) ** 2) / (2 * 1.5**2))
    kernel /= kernel.sum()
    wide = numpy.pad(values, ((2, 2), (2, 2), (0, 0)), mode="reflect")
    wanted = sum(
        kernel[i] * kernel[j] * wide[i : i + 64, j : j + 72] for i in range(5) for j in range(5)
    )
    assert abs(blurred - wanted).max() <= abs(values).max() * 5 / 65536

    erased = rows(path, [sluice.RandomErasing(1.0)])[0][0]
    gone = (erased != pixels).any(2)
    top, left = numpy.argwhere(gone).min(0)
    bottom, right = numpy.argwhere(gone).max(0)
    assert gone.any() and (erased[top : bottom + 1, left : right + 1] == 0).all()
    noisy = rows(path, [sluice.RandomErasing(1.0, noise=True)])[0][0]
    inside = noisy[top : bottom + 1, left : right + 1].astype(float)
    assert (noisy == erased)[~gone].all()
    most = 65535 if dtype == "uint16" else 1
    assert 0 <= inside.min() and inside.max() <= most and abs(inside.mean() / most - 0.5) < 0.1
    assert not (inside[..., 0] == inside[..., 1]).all()


def test_a_mirrored_border_is_turned_with_its_image(tmp_path):
    pixels = picture("int16", 40, 50, 3)
    path = write(tmp_path / "data", [pixels] * 12)
    mirrored = numpy.pad(pixels, ((8, 8), (8, 8), (0, 0)), mode="reflect")
    windows = numpy.lib.stride_tricks.sliding_window_view(mirrored, (48, 48), (0, 1)).transpose(0, 1, 3, 4, 2)
    steps = [sluice.RandomCrop(48, 8, sluice.Border.REFLECT), sluice.RandomQuarterTurns()]
    for after in ([], [sluice.Normalize([0], [1])]):
        turns = set()
        for row in rows(path, [*steps, *after]):
            found = [
                turn for turn in range(4) if (windows == numpy.rot90(row[0], turn)).all((2, 3, 4)).any()
            ]
            assert len(found) == 1
            turns.add(found[0])
        assert turns & {1, 3} and turns & {0, 2}


def test_normalize_makes_numbers_of_16_bits(tmp_path):
    pixels = picture("int16", 30, 40, 3)
    path = write(tmp_path / "data", [pixels])
    wanted = ((pixels.astype(float) - [-17000, -16000, -15000]) / 512).astype(numpy.float32)
    got = rows(path, [sluice.Normalize([-17000, -16000, -15000], [512], sluice.FloatType.FLOAT16)])[0][0]
    assert got.dtype == numpy.float16 and (got == wanted.astype(numpy.float16)).all()
    torch = pytest.importorskip("torch")
    steps = [sluice.Normalize([-17000, -16000, -15000], [512], sluice.FloatType.BFLOAT16)]
    batch = next(iter(sluice.Loader(path, 1, transform=steps)))
    got = torch.from_dlpack(batch["image"])[0]
    assert got.dtype == torch.bfloat16 and torch.equal(got, torch.from_numpy(wanted).to(torch.bfloat16))


def test_steps_leave_no_data_out(tmp_path):
    draws = numpy.random.default_rng(7)
    values = draws.uniform(100, 3000, (80, 90, 2)).astype(numpy.float32)
    lacking = draws.random((80, 90)) < 0.1
    lacking[20:40, 30:60] = True
    values[lacking] = -9999
    path = write(tmp_path / "data", [values], sluice.Field.image(no_data=-9999))

    contrast = rows(path, [sluice.ColorJitter(0, 0.5)])[0][0]
    assert (contrast[lacking] == -9999).all()
    mean = values[~lacking].astype(float).mean(0)
    shares = (contrast[~lacking] - mean) / (values[~lacking] - mean)
    far = abs(values[~lacking] - mean) > 100
    assert abs(shares[far] - shares[far][0]).max() < 1e-4 and abs(shares[far][0] - 1) > 0.01

    blurred = rows(path, [sluice.GaussianBlur(5, (1.5, 1.5))])[0][0]
    kernel = numpy.exp(-((numpy.arange(5) - 2) ** 2) / (2 * 1.5**2))
    kernel /= kernel.sum()

    def smooth(plane):
        wide = numpy.pad(plane, 2, mode="reflect")
        return sum(kernel[i] * kernel[j] * wide[i : i + 80, j : j + 90] for i in range(5) for j in range(5))

    share = smooth(1.0 * ~lacking)
    clear = abs(share - 0.5) > 1e-3
    assert ((blurred[..., 1] == -9999) == (share < 0.5))[clear].all()
    wanted = smooth(numpy.where(lacking, 0, values[..., 1])) / numpy.maximum(share, 1e-9)
    assert abs(blurred[..., 1] - wanted)[clear & (share > 0.5)].max() <= 3000 * 10 / 65536

    erased = rows(path, [sluice.RandomErasing(1.0)])[0][0]
    gone = (erased != values).any(2)
    assert gone.any() and (erased[gone] == -9999).all()

    # A warp: planes stay planes, and nothing of -9999 is in them.
    y, x = numpy.mgrid[:80, :90]
    planes = numpy.stack([x, y, x + y], 2).astype(numpy.float32)
    planes[30:50, 40:60] = -9999
    path = write(tmp_path / "planes", [planes], sluice.Field.image(no_data=-9999))
    warped = rows(path, [sluice.RandomAffine(30)])[0][0]
    gone = warped == -9999
    assert (gone == gone[..., :1]).all() and gone[0].any() and 300 < gone[20:60, 30:70, 0].sum() < 500
    inside = warped[~gone[..., 0]].astype(float)
    assert inside.min() >= 0 and inside[:, 0].max() <= 89 and inside[:, 1].max() <= 79
    assert numpy.allclose(inside[:, 0] + inside[:, 1], inside[:, 2], atol=1e-3)


def test_a_depth_map_follows_its_picture(tmp_path):
    y, x = numpy.mgrid[:90, :120]
    rgb = numpy.stack([x, y, x * 0], 2).astype(numpy.uint8)
    depth = (x + y / 128).astype(numpy.float32)
    fields = [sluice.Field.image(), sluice.Field.image("depth", follows="image"), sluice.Field.mask("wide", "image")]
    with sluice.Writer(tmp_path / "data", fields, image="raw") as writer:
        for i in range(4):
            writer.add(str(i), image=rgb, depth=depth, wide=depth)
    loader = sluice.Loader(tmp_path / "data", 4, transform=[sluice.RandomCrop(40), sluice.HorizontalFlip()])
    for batch in loader.epoch(0):
        image, mapped, mask = (numpy.array(batch[name]) for name in ("image", "depth", "wide"))
        assert mapped.dtype == mask.dtype == numpy.float32
        assert (mapped[..., 0] == image[..., 0] + image[..., 1] / 128).all()
        assert (mask == mapped).all()
    resize = sluice.Loader(tmp_path / "data", 4, transform=[sluice.Resize((45, 50))])
    for batch in resize.epoch(0):
        mapped, mask = numpy.array(batch["depth"])[0], numpy.array(batch["wide"])[0]
        assert abs(mapped - resized(depth[..., None], 45, 50)).max() <= numpy.spacing(numpy.float32(121))
        assert numpy.isin(mask, depth).all()


def test_views_and_warps(tmp_path):
    y, x = numpy.mgrid[:100, :100]
    pixels = numpy.stack([x, y, x + y, x * y, 0 * x], 2).astype(numpy.float32)
    path = write(tmp_path / "data", [pixels] * 3)
    loader = sluice.Loader(
        path, 3, transform=[sluice.CenterCrop(50)], views=[sluice.View("small", [sluice.Resize(20)])],
    )
    for batch in loader.epoch(0):
        assert (numpy.array(batch["image"])[1] == pixels[25:75, 25:75]).all()
        small = numpy.array(batch["small"])[2]
        assert abs(small - resized(pixels, 20, 20)).max() <= numpy.spacing(numpy.float32(9801))
    # An affine map keeps planes: away from the border, x, y and x + y stay linear.
    turned = rows(path, [sluice.RandomAffine(30)])[0][0].astype(float)
    middle = turned[40:60, 40:60]
    assert numpy.allclose(middle[..., 0] + middle[..., 1], middle[..., 2], atol=1e-3)
    assert numpy.allclose(numpy.diff(middle[..., 0], 2, axis=0), 0, atol=1e-3)
    # It is a rotation: x rises by its cosine along a line, and by its sine down a column.
    across, down = middle[0, 1, 0] - middle[0, 0, 0], middle[1, 0, 0] - middle[0, 0, 0]
    assert abs(down) > 0.01 and abs(across**2 + down**2 - 1) < 1e-3


def test_mixing_batches(tmp_path):
    def labelled(name, field):
        with sluice.Writer(tmp_path / name, [field, sluice.Field.label("label", ["a", "b"])]) as writer:
            for i in range(4):
                writer.add(str(i), image=numpy.full((8, 8, 5), 1000 * i - 2000, numpy.int16), label=0)
        return tmp_path / name

    mix = [sluice.OneHot(), sluice.MixUp(1.0)]
    mixed = rows(labelled("data", sluice.Field.image()), mix, batch=4)[0]
    assert mixed.dtype == numpy.int16
    share = (mixed[1, 0, 0, 0] + 2000) / 1000
    assert 0 <= share <= 1 and abs(mixed[3, 0, 0, 0] - 1000 * share) <= 1
    holed = labelled("holed", sluice.Field.image(no_data=-2000))
    with pytest.raises(sluice.Error, match="MixUp would mix no data"):
        rows(holed, mix, batch=4)
    assert rows(holed, [sluice.Normalize([0], [1]), *mix], batch=4)[0].dtype == numpy.float32


def test_wide_datasets_say_so_to_older_readers(tmp_path):
    def required(path):
        return json.loads((path / "manifest.json").read_text()).get("requires")

    assert required(write(tmp_path / "a", [picture("uint16", 9, 9, 3)])) is None
    assert required(write(tmp_path / "b", [picture("uint8", 9, 9, 5)])) == ["wide-pixels"]
    assert required(write(tmp_path / "c", [picture("float32", 9, 9, 1)])) == ["wide-pixels"]


def test_a_field_has_one_type(tmp_path):
    with pytest.raises(sluice.Error, match="has an image of int16, and earlier ones have uint16"):
        write(tmp_path / "a", [picture("uint16", 9, 9, 3), picture("int16", 9, 9, 3)])
    with pytest.raises(sluice.Error, match="names 2 channels"):
        write(tmp_path / "b", [picture("uint16", 9, 9, 3)], sluice.Field.image(channels=["a", "b"]))
    with pytest.raises(sluice.Error, match="a different name"):
        write(tmp_path / "c", [], sluice.Field.image(channels=["a", "a"]))
    patch = numpy.zeros((13, 64, 64), numpy.uint16)
    with pytest.raises(ValueError, match=r"channels first: use pixels.transpose\(1, 2, 0\)"):
        write(tmp_path / "f", [patch])
    named = sluice.Field.image(channels=[f"B{c}" for c in range(64)])
    assert sluice.Dataset(write(tmp_path / "g", [patch], named))[0].array("image").shape == patch.shape
    whole = numpy.arange(70000, dtype=numpy.int64).reshape(100, 700)
    stored = sluice.Dataset(write(tmp_path / "d", [whole]))[0].array("image")
    assert stored.dtype == numpy.float32 and (stored == whole).all()
    with pytest.raises(ValueError, match="cannot"):
        write(tmp_path / "e", [whole + 2**40])


@pytest.mark.parametrize("dtype,stored", [
    ("int8", "int16"), ("int32", "float32"), ("uint32", "float32"), ("int64", "float32"), ("float64", "float32"),
    (">u2", "uint16"), (">i2", "int16"), (">f4", "float32"), (">f8", "float32"),
])
def test_the_type_of_stored_pixels_depends_on_their_dtype_alone(tmp_path, dtype, stored):
    small = numpy.arange(100).reshape(5, 20).astype(dtype)
    wide = small - 50 if numpy.dtype(dtype).kind == "i" else small * 1000 if small.dtype.itemsize > 2 else small * 650
    dataset = sluice.Dataset(write(tmp_path / "data", [small, wide]))
    for sample, pixels in zip(dataset, [small, wide]):
        assert sample.array("image").dtype == stored
        assert (sample.array("image").reshape(pixels.shape) == pixels).all()


def test_a_mask_of_whole_numbers_holds_classes(tmp_path):
    fields = [sluice.Field.image(), sluice.Field.mask("mask", "image")]
    image, classes = numpy.zeros((8, 8, 3), numpy.uint8), numpy.arange(64).reshape(8, 8)
    with sluice.Writer(tmp_path / "data", fields) as writer:
        for i, mask in enumerate([classes, classes.astype(numpy.int32) * 1000]):
            writer.add(str(i), image=image, mask=mask)
        with pytest.raises(ValueError, match="'mask' is given pixels of int64, which become uint16"):
            writer.add("negative", image=image, mask=classes - 1)
    masks = [sample.array("mask") for sample in sluice.Dataset(tmp_path / "data")]
    assert masks[0].dtype == masks[1].dtype == numpy.uint16 and (masks[1].reshape(8, 8) == classes * 1000).all()


def test_a_small_patch_of_many_channels_is_refused_with_both_ways_out(tmp_path):
    patch = picture("uint16", 8, 8, 13)
    with pytest.raises(ValueError, match=r"pixels.transpose.*sluice.Field.image\(channels=") as raised:
        write(tmp_path / "a", [patch])
    assert "channels last" in str(raised.value)
    named = sluice.Field.image(channels=[f"B{c}" for c in range(13)])
    assert (sluice.Dataset(write(tmp_path / "b", [patch], named))[0].array("image") == patch).all()


def test_no_data_of_8_bit_pictures_is_refused_when_it_would_be_mixed(tmp_path):
    pixels = picture("uint8", 20, 20, 1)
    path = write(tmp_path / "data", [pixels], sluice.Field.image(no_data=0))
    with pytest.raises(sluice.Error, match='field "image" has the attribute no_data.*store its images as uint16'):
        rows(path, [sluice.Resize(10)])


def test_damage_is_found_where_it_shows(tmp_path):
    path = write(tmp_path / "data", [picture("uint16", 300, 300, 5, seed) for seed in range(2)])
    shard = next(path.glob("*.sluice"))
    content = bytearray(shard.read_bytes())
    payload = sluice.Dataset(path)[0].payload("image")
    at = content.find(payload[:200])
    # The last tile of the first image is that of the last channel at its lower right corner.
    content[at + len(payload) - 40] ^= 1
    shard.write_bytes(content)
    assert (rows(path, [sluice.CenterCrop(100)])[0] != 0).any()
    with pytest.raises(sluice.Error, match="checksum of a tile"):
        rows(path)
    loader = sluice.Loader(path, 1, integrity=sluice.IntegrityOptions(on_fault="skip"))
    assert sum(len(batch) for batch in loader.epoch(0)) == 1


def test_damage_of_a_follower_is_found_where_it_shows(tmp_path):
    depth = picture("float32", 300, 300, 1)
    with sluice.Writer(tmp_path / "data", [sluice.Field.image(), sluice.Field.image("depth", follows="image")]) as writer:
        writer.add("a", image=numpy.zeros((300, 300, 3), numpy.uint8), depth=depth)
    shard = next((tmp_path / "data").glob("*.sluice"))
    content = bytearray(shard.read_bytes())
    payload = sluice.Dataset(tmp_path / "data")[0].payload("depth")
    content[content.find(payload) + len(payload) - 40] ^= 1  # in the tile at the lower right corner
    shard.write_bytes(content)

    def play(side, verify):
        loader = sluice.Loader(
            tmp_path / "data", 1, transform=[sluice.CenterCrop(side)], integrity=sluice.IntegrityOptions(verify=verify)
        )
        return numpy.array(next(iter(loader.epoch(0)))["depth"])[0]

    assert (bits(play(100, "auto")) == bits(depth[100:200, 100:200])).all()
    with pytest.raises(sluice.Error, match="checksum of a tile"):
        play(300, "auto")
    with pytest.raises(sluice.Error, match="the image's checksum does not match"):
        play(100, "always")


def test_a_loader_states_the_memory_that_wide_images_take(tmp_path):
    def scratch(path, **views):
        loader = sluice.Loader(
            sluice.Dataset(path, max_pixels=512 * 512), 1, transform=[sluice.CenterCrop(32)], threads=1, **views
        )
        return loader.memory()["scratch"]

    path = write(tmp_path / "views", [picture("float32", 300, 250, 9)])
    # All channels of a row before it is turned; its planes as made, turned, warped and blurred.
    assert scratch(path, views=[sluice.View("large", [sluice.Resize(1000)])]) >= (9 + 4) * 1000 * 1200 * 4
    fields = [sluice.Field.image(), sluice.Field.image("depth", follows="image"), sluice.Field.mask("mask", "image")]
    deep = numpy.zeros((512, 512, 64), numpy.float32)
    for last in fields[1:]:
        with sluice.Writer(tmp_path / last.name, [fields[0], last]) as writer:
            writer.add("a", {"image": numpy.zeros((512, 512, 3), numpy.uint8), last.name: deep})
    # The content of a zstd payload; of a mask also the pixels, since it is decoded whole.
    assert scratch(tmp_path / "depth") >= deep.nbytes
    assert scratch(tmp_path / "mask") >= 2 * deep.nbytes


def command(*arguments):
    program = os.environ.get("SLUICE_COMMAND")
    if not program:
        pytest.skip("SLUICE_COMMAND does not name the command")
    return subprocess.run([program, *map(str, arguments)], check=True, capture_output=True, text=True).stdout


@pytest.mark.parametrize("dtype", ("int16", "float16", "float32"))
def test_stats_are_those_of_numpy_without_no_data(tmp_path, dtype):
    draws = numpy.random.default_rng(3)
    images = [(draws.normal(size=(40, 50, 5)) * 300 + 40 * i).astype(dtype) for i in range(7)]
    for pixels in images:
        pixels[draws.random((40, 50)) < 0.2] = -999
    path = write(tmp_path / "data", images, sluice.Field.image(no_data=-999))
    values = numpy.stack(images).astype(float).reshape(-1, 5)
    values[values == -999] = numpy.nan
    found = json.loads(command("stats", path, "--json", "--threads", 3))
    assert numpy.allclose(found["mean"], numpy.nanmean(values, 0), rtol=1e-9)
    assert numpy.allclose(found["std"], numpy.nanstd(values, 0), rtol=1e-9)
    assert found["min"] == numpy.nanmin(values, 0).tolist() and found["max"] == numpy.nanmax(values, 0).tolist()
    for member, part in ("percentile_2", 2), ("percentile_98", 98):
        exact = numpy.nanpercentile(values, part, axis=0, method="lower")
        assert numpy.allclose(found[member], exact, rtol=1 / 128 if dtype == "float32" else 0)
    assert found["values_not_counted"] == numpy.isnan(values).sum()
    assert command("stats", path, "--json", "--threads", 1) == command("stats", path, "--json", "--threads", 3)


def test_commands_keep_values(tmp_path):
    images = [picture("float32", 60, 70, 6, seed) for seed in range(3)]
    path = write(tmp_path / "data", images, sluice.Field.image(channels=list("abcdef")))
    command("verify", "--decode", path)
    command("transcode", path, tmp_path / "raw", "--image", "raw")
    command("transcode", tmp_path / "raw", tmp_path / "back", "--image", "packed")
    for copy in (tmp_path / "raw", tmp_path / "back"):
        command("verify", "--decode", copy)
        for sample, pixels in zip(sluice.Dataset(copy), images):
            assert (bits(sample.array("image")) == bits(pixels)).all()
    assert sum(f.stat().st_size for f in path.iterdir()) == pytest.approx(
        sum(f.stat().st_size for f in (tmp_path / "back").iterdir()), rel=0.1
    )
    command("export", path, tmp_path / "files")
    files = sorted((tmp_path / "files").rglob("*.npy"))
    for file, pixels in zip(files, images, strict=True):
        assert (bits(numpy.load(file)) == bits(pixels)).all()
    command("preview", path, tmp_path / "page.html", "--bands", "c,b,a")
    with pytest.raises(subprocess.CalledProcessError) as raised:
        command("preview", path, tmp_path / "page.html", "--bands", "c,b,z")
    assert 'no channel "z"' in raised.value.stderr
    other = write(tmp_path / "other", [picture("int16", 60, 70, 6)], sluice.Field.image(channels=list("abcdef")))
    with pytest.raises(subprocess.CalledProcessError) as raised:
        command("merge", path, other, tmp_path / "both")
    assert "a field has one type" in raised.value.stderr


def test_no_data_of_float16_is_the_number_that_is_stored(tmp_path):
    draws = numpy.random.default_rng(5)
    values = draws.uniform(100, 200, (40, 50, 3)).astype(numpy.float16)
    lacking = numpy.zeros((40, 50), bool)
    lacking[:, :15] = True
    values[lacking] = -9999  # float16 has -10000 and -9992
    path = write(tmp_path / "data", [values], sluice.Field.image(no_data=-9999))
    found = json.loads(command("stats", path, "--json"))
    assert found["values_not_counted"] == 3 * lacking.sum()
    assert found["min"] == values[~lacking].astype(float).min(0).tolist()
    image = pytest.importorskip("PIL.Image")
    command("preview", path, tmp_path / "page.png")
    # If no data counted as a value, all others would be white.
    shown = numpy.asarray(image.open(tmp_path / "page.png").convert("L"))
    assert ((shown > 30) & (shown < 220)).sum() > 800


def forged(path, samples, *fields):
    """A dataset of forged samples, which are images or dictionaries of fields, written from the format's page alone."""
    sys.path.append(str(pathlib.Path(__file__).parents[1] / "format"))
    try:
        import conformance
    except SystemExit:
        pytest.skip("the module xxhash is not installed")
    samples = [each if isinstance(each, dict) else {"image": each} for each in samples(conformance)]
    conformance.Dataset(
        fields=conformance.FIELDS + list(fields), shards=(len(samples),),
        samples=[conformance.sample(b"%d" % i, **each) for i, each in enumerate(samples)],
    ).write(path)
    return path


def test_zstd_images_become_tiled(tmp_path):
    def samples(kit):
        image = kit.image(60, 50, 3, 1)
        return [image, kit.image(60, 50, 3, 1, codec=3, payload=kit.zstd(image.content))]

    path = forged(tmp_path / "data", samples)
    command("transcode", path, tmp_path / "tiled", "--image", "packed")
    command("verify", "--decode", tmp_path / "tiled")
    raw = sluice.Dataset(path)[0].payload("image")
    for sample, before in zip(sluice.Dataset(tmp_path / "tiled"), sluice.Dataset(path)):
        assert (sample.array("image") == before.array("image")).all()
        assert len(sample.payload("image")) < len(raw) // 2


def test_a_zstd_image_follows_its_picture(tmp_path):
    def samples(kit):
        image = kit.image(60, 50, 5, 4)
        return [{"image": kit.image(60, 50), "depth": kit.image(60, 50, 5, 4, codec=3, payload=kit.zstd(image.content))}]

    field = {"name": "depth", "kind": "image", "role": "image", "follows": "image"}
    path = forged(tmp_path / "data", samples, field)
    stored = sluice.Dataset(path)[0].array("depth")
    assert stored.tobytes() == bytes(i * 7 % 256 for i in range(60 * 50 * 5 * 4))
    batch = next(iter(sluice.Loader(path, 1, transform=[sluice.CenterCrop(30)])))
    assert (bits(numpy.array(batch["depth"])[0]) == bits(stored[10:40, 15:45])).all()


def test_a_forged_image_is_not_read_beyond_its_end(tmp_path):
    path = forged(tmp_path / "data", lambda kit: [kit.image(4000, 4000, 5, 1, content=b"", payload=bytes(8 * 8 * 5 * 2))])
    with pytest.raises(subprocess.CalledProcessError) as raised:
        command("transcode", path, tmp_path / "tiled", "--image", "packed")
    assert "the pixels are of another size than the table says" in raised.value.stderr
