"""pictures.py MAKE_PHOTOS SLUICE SLUICE_BENCH OUT: makes the pictures of the pages, in the folder OUT (in the
repository: samples/guides/pictures). Run it after a change of what they show, and look at them before they go in.

Needs the package sluice, Pillow and Chromium. All that the pictures show is drawn: by make_photos, and here.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy
from PIL import Image, ImageDraw, ImageFont

import sluice

make_photos, sluice_program, sluice_bench, out = (Path(word).absolute() for word in sys.argv[1:])
WIDTH, HEIGHT = 200, 150  # of a cell, and of the scene in it
FINE = 4  # the scene is drawn this many times larger
# The boat's hull and sails, as shares of the scene's sides.
BOAT = [[(0.52, 0.80), (0.86, 0.80), (0.80, 0.90), (0.58, 0.90)], [(0.68, 0.79), (0.68, 0.36), (0.86, 0.76)],
        [(0.66, 0.79), (0.66, 0.42), (0.54, 0.76)]]


def scene(night=False):
    """A lake below mountains, with a boat: nothing in it is symmetric, and it has light, dark and colourful places."""
    width, height = WIDTH * FINE, HEIGHT * FINE
    top, low = ((12, 18, 52), (96, 70, 120)) if night else ((66, 135, 214), (250, 222, 170))
    share = numpy.minimum(numpy.arange(height) / (height * 0.6), 1)[:, None]
    sky = numpy.array(top) * (1 - share) + numpy.array(low) * share
    picture = Image.fromarray(numpy.broadcast_to(sky[:, None], (height, width, 3)).astype("uint8"))
    draw = ImageDraw.Draw(picture)

    def shape(points, color):
        draw.polygon([(x * width, y * height) for x, y in points], fill=color)

    def disc(x, y, radius, color):
        draw.ellipse([x * width - radius * height, (y - radius) * height, x * width + radius * height,
                      (y + radius) * height], fill=color)

    disc(0.80, 0.19, 0.09, (236, 236, 250) if night else (255, 244, 190))
    rock, snow, wood = ((52, 52, 84), (150, 160, 200), (22, 44, 44)) if night else (
        (112, 116, 140), (248, 250, 255), (44, 110, 60))
    for left, peak, right, summit in ((-0.1, 0.2, 0.55, 0.2), (0.3, 0.62, 1.1, 0.3)):
        shape([(left, 0.62), (peak, summit), (right, 0.62)], rock)
        down = 0.62 - summit
        shape([(peak, summit), (peak - (peak - left) * 0.3, summit + down * 0.3), (peak - 0.02, summit + 0.08),
               (peak + 0.03, summit + 0.14), (peak + (right - peak) * 0.25, summit + down * 0.25)], snow)
    shape([(0, 0.55), (0.2, 0.58), (0.45, 0.6), (0.7, 0.58), (1, 0.53), (1, 0.66), (0, 0.66)], wood)
    shape([(0, 0.64), (1, 0.64), (1, 1), (0, 1)], (28, 40, 84) if night else (58, 128, 172))
    for number in range(9):
        y = 0.68 + number * 0.035
        shape([(0.08 * (number * 7 % 10), y), (0.08 * (number * 7 % 10) + 0.25, y + 0.004), (0.3, y + 0.01)],
              (60, 74, 130) if night else (112, 176, 208))
    for part, color in zip(BOAT, ((200, 44, 40), (252, 246, 232), (240, 180, 60))):
        shape(part, color)
    for x, size in ((0.04, 0.30), (0.13, 0.42), (0.22, 0.26)):
        for part in range(3):
            base, half = 0.97 - part * size * 0.28, 0.055 - part * 0.012
            shape([(x - half, base), (x, base - size * 0.45), (x + half, base)], (26, 64 + 14 * part, 44))
    return picture.resize((WIDTH, HEIGHT), Image.LANCZOS)


BOXES = numpy.array([[0.52, 0.36, 0.865, 0.90], [0.732, 0.10, 0.868, 0.28], [0.0, 0.53, 0.28, 0.97]], "float32")
BOXES *= numpy.array([WIDTH, HEIGHT, WIDTH, HEIGHT], "float32")  # boat, sun, trees


def write_scenes(folder):
    """A dataset of the scene by day and by night, with boxes and the boat's outlines."""
    fields = [sluice.Field.image(), sluice.Field.label("label", ["day", "night"]),
              sluice.Field.variable("boxes", "float32", (4,), "boxes", "image", "xyxy-pixels"),
              sluice.Field.bytes("instances", "instances", "image")]
    boat = [[number for x, y in part for number in (x * WIDTH, y * HEIGHT)] for part in BOAT]
    with sluice.Writer(folder, fields, image="raw") as writer:
        for label in (0, 1):
            writer.add(f"scene/{label}", image=numpy.asarray(scene(label == 1)), label=label, boxes=BOXES,
                       instances=[boat, None, None])


def played(folder, steps, epoch=0, fields=("image", "label")):
    """The batch of both scenes after `steps`."""
    if any(isinstance(step, sluice.CopyPaste) for step in steps):
        fields = (*fields, "boxes", "instances")
    loader = sluice.Loader(folder, 2, transform=steps, order=sluice.OrderOptions(shuffle="sequential"),
                           output=sluice.OutputOptions(fields=fields))
    return next(iter(loader.epoch(epoch)))


def grid(cells, columns, path, quality=44):
    """Stores (text, picture) pairs as a sheet. Cells have grey corners where a picture is smaller than its cell."""
    gap, line = 8, 22
    rows = -(-len(cells) // columns)
    sheet = Image.new("RGB", (columns * (WIDTH + gap) + gap, rows * (HEIGHT + gap + line) + gap), (255, 255, 255))
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(13)
    for number, (text, picture) in enumerate(cells):
        x = gap + number % columns * (WIDTH + gap)
        y = gap + number // columns * (HEIGHT + gap + line)
        draw.rectangle([x, y, x + WIDTH - 1, y + HEIGHT - 1], fill=(226, 228, 232))
        sheet.paste(picture, (x + (WIDTH - picture.width) // 2, y + (HEIGHT - picture.height) // 2))
        draw.text((x, y + HEIGHT + 3), text, fill=(40, 44, 52), font=font)
    sheet.save(path, quality=quality, optimize=True, progressive=True)


def strips(folder):
    """A sheet for each table of TRANSFORMS.md. The number after a step is an epoch whose random draws show it well."""
    labels = sluice.OneHot(2)
    moving = [
        ("RandomResizedCrop(200, 150)", [sluice.RandomResizedCrop((HEIGHT, WIDTH))], 5),
        ("Resize(100, 150)", [sluice.Resize((150, 100))], 0),
        ("ResizeShortSide(100)", [sluice.ResizeShortSide(100)], 0),
        ("CenterCrop(120, 120)", [sluice.CenterCrop(120)], 0),
        ("CenterResizedCrop(120, 120)", [sluice.CenterResizedCrop(120)], 0),
        ("RandomCrop(150, 40)", [sluice.RandomCrop(150, 40)], 0),
        ("RandomTranslate(40), reflected", [sluice.RandomTranslate(40, "reflect")], 1),
        ("HorizontalFlip(1)", [sluice.HorizontalFlip(1)], 0),
        ("VerticalFlip(1)", [sluice.VerticalFlip(1)], 0),
        ("Resize, RandomQuarterTurns(1)", [sluice.Resize(150), sluice.RandomQuarterTurns(1)], 2),
        ("RandomAffine(25)", [sluice.RandomAffine(25)], 1),
        ("Letterbox(150, 150)", [sluice.Letterbox(150)], 0),
        ("RandomZoomOut(1, 3), Resize", [sluice.RandomZoomOut(0, (1, 3), 1), sluice.Resize((150, 200))], 1),
        ("ScaleJitter, FixedSizeCrop", [sluice.ScaleJitter(200), sluice.FixedSizeCrop(150)], 3),
        ("RandomShortestSize, CenterCrop", [sluice.RandomShortestSize([90, 150]), sluice.CenterCrop(150)], 0),
        ("RandomPerspective(.5, 1)", [sluice.RandomPerspective(0.5, 1)], 1),
    ]
    changing = [
        ("ColorJitter(.4, .4, .4, .1)", [sluice.ColorJitter(0.4, 0.4, 0.4, 0.1)], 0),
        ("RandomHSV(.1)", [sluice.RandomHSV(0.1)], 0),
        ("RandomPhotometricDistort(1)", [sluice.RandomPhotometricDistort(p=1)], 1),
        ("RandomGrayscale(1)", [sluice.RandomGrayscale(1)], 0),
        ("Invert()", [sluice.Invert()], 0),
        ("Solarize(128)", [sluice.Solarize(128)], 0),
        ("Posterize(2)", [sluice.Posterize(2)], 0),
        ("Equalize()", [sluice.Equalize()], 0),
        ("AutoContrast()", [sluice.AutoContrast()], 0),
        ("AdjustSharpness(6)", [sluice.AdjustSharpness(6)], 0),
        ("GaussianBlur(9, 2, 3)", [sluice.GaussianBlur(9, (2, 3))], 0),
        ("RandAugment(2, 12)", [sluice.RandAugment(2, 12)], 4),
        ("TrivialAugmentWide()", [sluice.TrivialAugmentWide()], 0),
        ("RandomErasing(1)", [sluice.RandomErasing(1)], 0),
        ("OneHot(2), MixUp(8)", [labels, sluice.MixUp(8)], 0),
        ("OneHot(2), CutMix(2)", [labels, sluice.CutMix(2)], 1),
        ("HorizontalFlip, CopyPaste(1)", [sluice.HorizontalFlip(), sluice.CopyPaste(1)], 1),
    ]
    day, night = map(Image.fromarray, played(folder, [])["image"].numpy())
    for name, steps, last in (("moving", moving, []),
                              ("changing", changing, [("the next picture of the batch", night)])):
        cells = [(text, Image.fromarray(played(folder, step, epoch)["image"].numpy()[0]))
                 for text, step, epoch in steps]
        grid([("the picture", day), *cells, *last], 4, out / f"{name}.jpg")


def crops_with_boxes(folder):
    """The scene and three random crops of it, with the boxes that each batch has."""
    cells = []
    for text, steps, epoch in (("the picture", [], 0),
                               *(("rrc, flip", [sluice.RandomResizedCrop((HEIGHT, WIDTH), scale=(0.3, 0.9)),
                                                sluice.HorizontalFlip()], epoch) for epoch in (1, 3, 4))):
        batch = played(folder, steps, epoch, ("image", "label", "boxes"))
        picture = Image.fromarray(batch["image"].numpy()[0])
        draw = ImageDraw.Draw(picture)
        for left, top, right, bottom in batch["boxes"][0]:
            draw.rectangle([left, top, right - 1, bottom - 1], outline=(255, 230, 0), width=2)
        cells.append((text, picture))
    grid(cells, 4, out / "boxes.jpg")


def reports(folder):
    """What the commands make of a dataset of make_photos: a contact sheet, a page, plots."""
    def run(*words):
        subprocess.run([str(word) for word in words], check=True, cwd=folder, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)

    run(make_photos, "photos", 10, 40)
    run(sluice_program, "convert", "photos", "data", "--quiet")
    run(sluice_program, "preview", "data", "sheet.png", "--count", 32, "--side", 96, "--columns", 8, "--quiet")
    Image.open(folder / "sheet.png").save(out / "sheet.jpg", quality=72, optimize=True)
    run(sluice_program, "preview", "data", "preview.html", "--count", 40, "--quiet")
    run("chromium", "--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1000,640",
        "--screenshot=preview.png", "preview.html")
    shot = Image.open(folder / "preview.png").convert("RGB")
    shot.resize((800, 512), Image.LANCZOS).save(out / "preview.jpg", quality=70, optimize=True)
    run(sluice_bench, "epoch", "data", "--transform", "rrc:224,flip", "--batch-size", 16, "--step-ms", 4, "--html",
        "epoch.html")
    (out / "epoch.svg").write_text(plots((folder / "epoch.html").read_text(encoding="utf-8")), encoding="utf-8")


def plots(page):
    """Two plots of a report with their titles, as one SVG in the page's colours."""
    style = page[page.index("<style>") + len("<style>"):page.index("</style>")]
    style = re.sub(r"@media \(max-width.*?\n}\n", "", style, flags=re.S)  # the plots for narrow screens are left out
    parts, y = [], 0
    for title, svg in re.findall(r"<h2>(Stages|Timeline)</h2>(?:(?!<h2>).)*?(<svg.*?</svg>)", page, flags=re.S):
        height = float(re.search(r'viewBox="0 0 \S+ ([\d.]+)"', svg)[1])
        parts += [f'<text class="title" x="10" y="{y + 24}">{title}</text>',
                  re.sub("<title>.*?</title>", "", svg).replace("<svg ", f'<svg y="{y + 36}" height="{height}" ', 1)]
        y += height + 48
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="760" height="{y:.0f}" viewBox="0 0 760 {y:.0f}"'
            ' font-family="sans-serif">\n<style>'
            + re.sub(r"(?m)^(body|h1|h2|p\.|table|th|td|svg \{|  max).*\n", "", style)
            + ".title { font-size: 15px; font-weight: 600; }\n</style>\n"
            f'<rect width="760" height="{y:.0f}" fill="var(--back)"/>\n' + "\n".join(parts) + "\n</svg>\n")


out.mkdir(parents=True, exist_ok=True)
with tempfile.TemporaryDirectory() as work:
    write_scenes(Path(work) / "scenes")
    strips(Path(work) / "scenes")
    crops_with_boxes(Path(work) / "scenes")
    reports(Path(work))
for picture in sorted(out.iterdir()):
    print(picture.name, picture.stat().st_size, "bytes")
