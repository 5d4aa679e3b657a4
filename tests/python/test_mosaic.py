"""Mosaics: pictures that say where they are from, in numpy, by the rules of reader/TRANSFORMS.md and ORDER.md."""

import json
import shutil

import numpy
import pytest
from PIL import Image

import sluice

from test_columns import run

COUNT = 96


def size_of(number):
    return (17 + number * 29 % 80, 17 + number * 53 % 61)


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """Raw pictures whose channels are sample, x and y; masks of x; a dot in the middle of each box."""
    path = str(tmp_path_factory.mktemp("mosaics") / "pictures")
    boxes = sluice.Field.variable("boxes", "float32", (4,), "boxes", "image", "xyxy-pixels")
    classes = sluice.Field.variable("classes", "int32", (), "label", "image")
    notes = sluice.Field.variable("notes", "int32", ())
    mask = sluice.Field.mask("mask", "image")
    fields = [sluice.Field.image(), boxes, classes, notes, mask, sluice.Field.array("number", "int32", ())]
    with sluice.Writer(path, fields, image="raw") as writer:
        for number in range(COUNT):
            width, height = size_of(number)
            x, y = numpy.meshgrid(numpy.arange(width), numpy.arange(height))
            image = numpy.stack([x * 0 + number + 1, x + 60, y + 60], axis=2).astype("uint8")
            left, top = 2 + number % 5, 3
            writer.add(f"{number}", image=image, boxes=numpy.array([[left, top, left + 11, top + 9]] * (number % 3), "float32"),
                       classes=numpy.array([number] * (number % 3), "int32"), notes=numpy.array([number, -number], "int32"),
                       mask=(x + 1).astype("uint8"), number=numpy.int32(number))
    return path


def rows_of(path, steps, epoch=0, **options):
    options = {"order": sluice.OrderOptions(lanes=8), "output": sluice.OutputOptions(boxes=sluice.BoxRule(0, 0)), **options}
    loader = sluice.Loader(path, 8, transform=steps, seed=3, **options)
    loader.set_epoch(epoch)
    for batch in loader:
        for row in range(len(batch)):
            yield batch, row


PIPELINES = {
    "plain": [sluice.Mosaic(40)],
    "crop": [sluice.HorizontalFlip(), sluice.Mosaic(48), sluice.RandomCrop(70)],
    "scale": [sluice.Mosaic(64), sluice.RandomAffine(0, translate=(0.1, 0.1), scale=(0.5, 1.5), size=64, fill=[114] * 3),
              sluice.HorizontalFlip(), sluice.VerticalFlip(0.3)],
    "turn": [sluice.RandomQuarterTurns(), sluice.Mosaic(50), sluice.Resize(80), sluice.RandomQuarterTurns()],
    "warp": [sluice.HorizontalFlip(), sluice.Mosaic(64),
             sluice.RandomAffine(10, translate=(0.1, 0.1), scale=(0.7, 1.3), size=64, fill=[114] * 3), sluice.HorizontalFlip()],
    "perspective": [sluice.Mosaic(40), sluice.RandomPerspective(0.3, 1, fill=[114] * 3), sluice.CenterCrop(60)],
}


@pytest.mark.parametrize("name", PIPELINES)
def test_each_pixel_comes_from_the_place_that_its_map_says(pictures, name):
    seen = shown = 0
    for epoch in range(3):
        for batch, row in rows_of(pictures, PIPELINES[name], epoch):
            image, mask = batch["image"].numpy()[row].astype(int), batch["mask"].numpy()[row].astype(int).squeeze()
            height, width = image.shape[:2]
            parts, maps = batch.parts()[row], batch.maps()[row]
            assert parts[0] == batch.samples[row] and parts.shape == (4,) and maps.shape == (4, 3, 3)
            x, y = numpy.meshgrid(numpy.arange(width) + 0.5, numpy.arange(height) + 0.5)
            covered = numpy.zeros((height, width), int)
            near = numpy.zeros((height, width), bool)  # so close to an edge that pixels of two may mix
            for part, to_row in zip(parts, maps):
                back = numpy.linalg.inv(to_row) if abs(numpy.linalg.det(to_row)) > 1e-12 else None
                if back is None:
                    continue
                u, v, w = numpy.tensordot(back, numpy.stack([x, y, x * 0 + 1]), 1)
                u, v = u / w, v / w
                of_width, of_height = size_of(part)
                grid = 1.5 / max(abs(to_row[0, 0]) + abs(to_row[0, 1]), 1e-6)  # a pixel of the row, in the picture
                margin = max(grid, 1.5)
                inside = (u > margin) & (u < of_width - margin) & (v > margin) & (v < of_height - margin)
                near |= (u > -margin) & (u < of_width + margin) & (v > -margin) & (v < of_height + margin) & ~inside
                is_from = inside & (image[..., 0] == part + 1)
                covered += is_from
                if not is_from.any():
                    continue
                # Half a pixel of the row and half of the grid before the warp.
                away = 1.2 * max(1, margin)
                assert (abs(image[..., 1] - 60 + 0.5 - u)[is_from] < away).all()
                assert (abs(image[..., 2] - 60 + 0.5 - v)[is_from] < away).all()
                assert (abs(mask - 1 + 0.5 - u)[is_from] < away + 0.6).all()
                shown += is_from.sum()
            assert (covered <= 1).all() or len(set(parts)) < 4
            border = (image == 114).all(axis=2)
            clear = ~near & (covered == 0)  # nothing but the border
            assert border[clear].all()
            assert (mask[clear & border] == 0).all()
            seen += 1
    assert seen == 3 * COUNT and shown > seen * 400


def test_tiles_meet_without_a_line_between_them(pictures):
    """Where the four pictures meet, no pixel of the border lies between two of them."""
    steps = [sluice.Mosaic(64), sluice.RandomAffine(0, translate=(0.1, 0.1), scale=(0.5, 1.5), size=64, fill=[114] * 3)]
    met = 0
    for batch, row in rows_of(pictures, steps):
        image = batch["image"].numpy()[row].astype(int)
        maps = batch.maps()[row]
        # The edge that the pictures at the left and right share: that of part 1 at its left.
        x, y = maps[1, 0, 2], maps[1, 1, 2] + maps[1, 1, 1] * size_of(batch.parts()[row][1])[1]
        if not (3 < x < 60 and 3 < y < 60):
            continue
        around = image[int(y) - 1:int(y) + 2, int(x) - 1:int(x) + 2]
        assert not (around == 114).all(axis=2).any()
        met += 1
    assert met > 10


@pytest.mark.parametrize("name", ["crop", "scale", "turn", "warp"])
def test_boxes_follow_and_fields_of_one_sample_stay(pictures, name):
    boxes_seen = 0
    for batch, row in rows_of(pictures, PIPELINES[name], 1):
        parts, maps = batch.parts()[row], batch.maps()[row]
        assert batch["number"].numpy()[row] == parts[0]
        assert numpy.asarray(batch["notes"][row]).tolist() == [parts[0], -parts[0]]
        classes, boxes = numpy.asarray(batch["classes"][row]), numpy.asarray(batch["boxes"][row]).reshape(-1, 4)
        assert len(classes) == len(boxes)
        height, width = batch["image"].numpy()[row].shape[:2]
        for number, box in zip(classes, boxes):
            assert number in parts
            fits = False
            for part in numpy.flatnonzero(parts == number):
                left, top = 2 + number % 5, 3
                corners = numpy.array([[left, left + 11, left, left + 11], [top, top, top + 9, top + 9], [1] * 4], float)
                u, v, w = maps[part] @ corners
                u, v = u / w, v / w
                low, high = (u.min(), v.min()), (u.max(), v.max())
                fits |= bool((box[:2] >= numpy.subtract(low, 1e-2)).all() and (box[2:] <= numpy.add(high, 1e-2)).all())
            assert fits
            assert (box >= 0).all() and box[2] <= width and box[3] <= height
            boxes_seen += 1
        # As many boxes as in the four samples, but for those that are cut off.
        assert len(boxes) <= sum(int(part) % 3 for part in parts)
    assert boxes_seen > 60


@pytest.mark.parametrize("shuffle", ["quasi_random", "random"])
def test_each_sample_is_shown_four_times(pictures, shuffle):
    order = sluice.OrderOptions(lanes=8, shuffle=shuffle)
    shown = numpy.concatenate([batch.parts() for batch in sluice.Loader(pictures, 8, transform=[sluice.Mosaic(16)], order=order)])
    assert shown.shape == (COUNT, 4)
    for part in range(4):
        assert sorted(shown[:, part]) == list(range(COUNT))
    assert all(len(set(row)) == 4 for row in shown)


def test_threads_ranks_and_resumes_give_the_same_rows(pictures):
    steps = [sluice.Mosaic(32), sluice.RandomAffine(5, scale=(0.5, 1.5), size=32, fill=[114] * 3), sluice.HorizontalFlip()]

    def play(world=1, rank=0, threads=2, batch=8, **options):
        loader = sluice.Loader(pictures, batch, transform=steps, seed=4, threads=threads, order=sluice.OrderOptions(lanes=64),
                               ranks=sluice.RankOptions(rank, world, last_batch="keep"), **options)
        rows, states = {}, []
        for made in loader:
            for row in range(len(made)):
                rows[int(made.samples[row])] = (made["image"].numpy()[row].tobytes(), tuple(made.parts()[row]),
                                                numpy.asarray(made["boxes"][row]).tobytes())
            states.append(loader.state())
        return rows, states

    whole, states = play()
    assert len(whole) == COUNT
    for threads in (1, 5):
        assert play(threads=threads)[0] == whole
    for world in (2, 4, 8):
        joined = {}
        for rank in range(world):
            joined.update(play(world, rank, batch=4)[0])
        assert joined == whole
    for state in states[:-1]:
        rest = play(resume_from=state)[0]
        assert rest and all(whole[number] == row for number, row in rest.items())
    assert play(storage=sluice.Direct())[0] == whole


def flat(path, form, count=40):
    """Pictures of one colour each, of all widths modulo 64."""
    with sluice.Writer(path, [sluice.Field.image()], image=form) as writer:
        for number in range(count):
            shape = (20 + number * 31 % 70, 20 + number * 13 % 71, 3)
            writer.add(f"{number}", image=numpy.full(shape, [60 + 4 * number, 200 - 3 * number, 90], "uint8"))
    return path


@pytest.mark.parametrize("form", ["jpeg", "packed"])
@pytest.mark.parametrize("layout", ["nchw", "nhwc"])
def test_every_codec_paints_its_tile_and_nothing_else(tmp_path, form, layout):
    raw, coded = flat(str(tmp_path / "raw"), "raw"), flat(str(tmp_path / form), form)
    for steps in ([sluice.HorizontalFlip(), sluice.Mosaic(60)],
                  [sluice.RandomQuarterTurns(), sluice.Mosaic(71), sluice.RandomAffine(0, (0.2, 0.2), (0.4, 1.4), size=93, fill=[114] * 3),
                   sluice.VerticalFlip()],
                  [sluice.Mosaic(50), sluice.RandomAffine(20, size=77, fill=[114] * 3)]):
        options = {"transform": steps, "order": sluice.OrderOptions(lanes=8), "output": sluice.OutputOptions(layout=layout)}
        for one, other in zip(sluice.Loader(raw, 8, **options), sluice.Loader(coded, 8, **options)):
            assert (one.parts() == other.parts()).all()
            assert abs(one["image"].numpy().astype(int) - other["image"].numpy()).max() <= 3


def test_a_faulty_partner_is_a_fault_of_the_row(pictures, tmp_path):
    path = tmp_path / "copy"
    shutil.copytree(pictures, path)
    shard = next(path.glob("*.sluice"))
    content = bytearray(shard.read_bytes())
    width, height = size_of(5)
    line = numpy.stack([numpy.full(width, 6), numpy.arange(width) + 60, numpy.full(width, 60)], axis=1).astype("uint8").tobytes()
    content[content.index(line) + 7] ^= 1
    shard.write_bytes(content)
    options = {"transform": [sluice.Mosaic(16)], "order": sluice.OrderOptions(lanes=8)}
    with pytest.raises(sluice.Error, match='sample 5 "5"'):
        for _ in sluice.Loader(str(path), 8, **options):
            pass
    whole = {int(batch.samples[row]): batch.parts()[row].tolist()
             for batch in sluice.Loader(pictures, 8, **options) for row in range(len(batch))}
    for on_fault in ("skip", "substitute"):
        loader = sluice.Loader(str(path), 8, integrity=sluice.IntegrityOptions(on_fault=on_fault), **options)
        played = {int(batch.samples[row]): batch.parts()[row].tolist() for batch in loader for row in range(len(batch))}
        assert [fault.sample for fault in loader.faults()] == [5]
        for number, parts in whole.items():
            if 5 not in parts:
                assert played[number] == parts
            elif on_fault == "substitute" and number != 5:
                assert [a for a, b in zip(parts, played[number]) if a != b] == [5]
        assert len(played) == COUNT - (4 if on_fault == "skip" else 1) or on_fault == "substitute"


def test_deleted_partners_are_substituted(pictures, tmp_path):
    path = tmp_path / "copy"
    shutil.copytree(pictures, path)
    (tmp_path / "keys.txt").write_text("3\n4\n50\n")
    run("delete", path, "--keys", tmp_path / "keys.txt")
    for batch in sluice.Loader(str(path), 8, transform=[sluice.Mosaic(16)], order=sluice.OrderOptions(lanes=8)):
        assert not numpy.isin(batch.parts(), [3, 4, 50]).any()


def test_partners_of_composed_batches_are_of_the_same_list(pictures):
    lists = [[n for n in range(COUNT) if n % 6 == k] for k in range(6)]
    order = sluice.OrderOptions(batches=lambda epoch, seed: lists)
    for batch in sluice.Loader(pictures, 16, transform=[sluice.Mosaic(16)], order=order):
        assert len(set((batch.parts() % 6).ravel())) == 1


def test_mixtures_and_dealt_shards_have_partners(pictures, tmp_path):
    other = flat(str(tmp_path / "other"), "jpeg", 64)
    mixture = sluice.Mixture([(sluice.Dataset(pictures), 0.5), (sluice.Dataset(other), 0.5)])
    options = {"transform": [sluice.Mosaic(16)], "order": sluice.OrderOptions(lanes=8), "output": sluice.OutputOptions(fields=["image"])}
    parts = numpy.concatenate([batch.parts() for batch in sluice.Loader(mixture, 8, **options)])
    assert (parts >= COUNT).any() and (parts < COUNT).any()
    counts = numpy.stack([numpy.bincount(parts[:, j], minlength=COUNT + 64) for j in range(4)])
    assert (counts == counts[0]).all()
    alone = sluice.RankOptions(0, 1, by_shards=True)
    assert numpy.concatenate([batch.parts() for batch in sluice.Loader(pictures, 8, ranks=alone, **options)]).shape[1] == 4


def test_a_row_alone_is_the_row_of_the_epoch(pictures):
    steps = [sluice.Mosaic(32), sluice.RandomCrop(40)]
    loader = sluice.Loader(pictures, 8, transform=steps, order=sluice.OrderOptions(lanes=8))
    for batch in loader:
        for row in range(len(batch)):
            alone = loader.row(int(batch.samples[row]), epoch=0)
            assert alone["image"].numpy()[0].tobytes() == batch["image"].numpy()[row].tobytes()
            assert (alone.parts()[0] == batch.parts()[row]).all()


@pytest.mark.parametrize("shuffle", ["quasi_random", "random"])
def test_a_preview_shows_the_rows_of_a_training(pictures, tmp_path, shuffle):
    steps = "mosaic:40,crop:64,flip,hsv"
    words = ["--fields", "classes", "--side", 64, "--columns", 1, "--json", "--seed", 3, "--epoch", 2, "--lanes", 16]
    said = run("preview", pictures, tmp_path / "rows.png", "--transform", f"{steps},normalize", "--shuffle", shuffle, *words)
    sheet = numpy.asarray(Image.open(tmp_path / "rows.png"))
    order = sluice.OrderOptions(lanes=16, shuffle=shuffle)
    rows = {int(batch.samples[row]): (batch.parts()[row].tolist(), batch["image"].numpy()[row].copy())
            for batch, row in rows_of(pictures, steps, 2, order=order)}
    shown = json.loads(said)["shown"]
    assert len(shown) == COUNT
    for number, parts in enumerate(shown):
        own_parts, image = rows[parts[0]]
        assert parts == own_parts
        top = 2 + 66 * number  # margins of two pixels
        assert (sheet[top:top + 64, 2:66] == image).all()


def test_a_schedule_may_end_mosaics(pictures):
    steps = [sluice.Mosaic(32), sluice.RandomCrop(32)]
    loader = sluice.Loader(pictures, 8, transform=steps, order=sluice.OrderOptions(lanes=8),
                           schedule=[(1, [sluice.Letterbox(32)])])
    for epoch in range(2):
        loader.set_epoch(epoch)
        for batch in loader:
            assert batch.parts().shape == (len(batch), 4) and batch.maps().shape == (len(batch), 4, 3, 3)
            assert ((batch.parts()[:, 1:] == -1).all() if epoch else (batch.parts() >= 0).all())
            assert (batch.maps()[:, 1:] == numpy.eye(3)).all() == bool(epoch)
            assert (batch.parts()[:, 0] == batch.samples).all()


def test_a_row_may_choose_a_mosaic(pictures):
    both = [sluice.RandomChoice([[sluice.Mosaic(32), sluice.RandomCrop(40)], [sluice.Letterbox(40)]], p=[1, 1])]
    alone = [sluice.Mosaic(32), sluice.RandomCrop(40)]
    order = sluice.OrderOptions(lanes=8)

    def play(steps, **options):
        return {int(batch.samples[row]): (batch.parts()[row].tolist() if batch.parts().shape[1] == 4 else None,
                                          batch["image"].numpy()[row].tobytes(), numpy.asarray(batch["classes"][row]).tolist())
                for batch in sluice.Loader(pictures, 8, transform=steps, order=order, **options) for row in range(len(batch))}

    rows, mosaics, letters = play(both), play(alone), play([sluice.Letterbox(40)])
    chosen = [number for number, row in rows.items() if row[0][1] >= 0]
    assert COUNT / 4 < len(chosen) < COUNT * 3 / 4
    for number, row in rows.items():
        if number in chosen:
            assert row == mosaics[number]
        else:
            assert row[0][1:] == [-1, -1, -1] and row[1:] == letters[number][1:]
    assert play(both, threads=5) == play(both, storage=sluice.Direct()) == rows


def test_a_batch_function_sees_parts_and_maps(pictures):
    seen = {}

    def look(batch):
        seen[batch.index] = batch.parts(), batch.maps()

    for batch in sluice.Loader(pictures, 8, transform=[sluice.Mosaic(16)], order=sluice.OrderOptions(lanes=8),
                               batch_function=look):
        parts, maps = seen[batch.index]
        assert parts.shape == (len(batch), 4) and (parts == batch.parts()).all()
        assert maps.shape == (len(batch), 4, 3, 3) and (maps == batch.maps()).all()
        parts[:] = 0  # a copy


def test_refusals_name_what_to_do(pictures):
    def refused(steps, **options):
        with pytest.raises(sluice.Error) as error:
            sluice.Loader(pictures, 8, transform=steps, **{"order": sluice.OrderOptions(lanes=8), **options})
        return str(error.value)

    mosaic = [sluice.Mosaic(32)]
    assert "multiple of 8 x world_size" in refused(mosaic, ranks=sluice.RankOptions(1, 2))
    assert "set it to 16" in refused(mosaic, ranks=sluice.RankOptions(1, 2))
    assert "not shuffled" in refused(mosaic, order=sluice.OrderOptions(shuffle="sequential"))
    assert "one Mosaic" in refused(mosaic * 2)
    assert "must come after Mosaic" in refused([sluice.RandomAffine(10, fill=[114] * 3), *mosaic])
    assert "put it before Mosaic" in refused([*mosaic, sluice.RandomIoUCrop(), sluice.Resize(30)])
    assert "of different kinds" in refused([*mosaic, sluice.RandomAffine(10, size=32)])
    assert "leave" in refused(mosaic, views=[sluice.View("other", [sluice.Resize(32)])])
    assert "OneHot" in refused([*mosaic, sluice.OneHot(96, label="number")])
    assert "share" in refused(mosaic, share=sluice.SharedRows(folder="/dev/shm", bytes=1 << 20))
    assert "put it into transform" in refused([], views=[sluice.View("other", mosaic)])
    with pytest.raises(sluice.Error, match="makes a different row each time"):
        sluice.Preprocess(sluice.Loader(pictures, 8, transform=mosaic, order=sluice.OrderOptions(lanes=8)).pipeline())
