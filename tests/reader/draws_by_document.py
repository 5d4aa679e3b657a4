#!/usr/bin/env python3
"""Prints draws_by_document.inc: draws computed from reader/DRAWS.md alone, without any code of the project.

    tests/reader/draws_by_document.py > tests/reader/draws_by_document.inc
    tests/reader/draws_by_document.py --page         prints the page's examples

Only the standard library is needed.
"""

import math
import struct
import sys
from fractions import Fraction

import order_by_document

M64 = (1 << 64) - 1
MOVING, CHANGING, MIXING = 6, 30, 33
SAMPLE_FUNCTION, BATCH_FUNCTION = 31, 32


# --- Arithmetic

def log(x):
    m, e = math.frexp(x)
    y = (m - 1) / (m + 1)
    z, s = y * y, 0.0
    for n in range(41, 0, -2):
        s = s * z + 1.0 / n
    return e * 0.69314718055994530942 + 2 * y * s


def exp(x):
    k = math.floor(x * 1.44269504088896340736 + 0.5)
    r, s = x - k * 0.69314718055994530942, 1.0
    for n in range(18, 0, -1):
        s = 1 + s * r / n
    return math.ldexp(s, k)


def float32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


class Stream(order_by_document.Stream):
    def __init__(self, key, purpose, a, b=0):
        super().__init__(key, purpose, a)
        self.purpose_word = purpose << 16 | b

    def word(self):
        if not self.words:
            counter = (self.next & 0xFFFFFFFF, self.a & 0xFFFFFFFF, self.a >> 32, self.purpose_word)
            self.words = list(order_by_document.philox(self.key, counter))
            self.next += 1
        return self.words.pop(0)

    def uniform(self):
        return (self.number() >> 11) * 2.0**-53

    def between(self, a, b):
        return a + self.uniform() * (b - a)


def draw_seed(seed, epoch, view=0):
    return Stream(seed, MOVING, epoch, view).number()


# --- Steps that move pixels

class Frame:
    """A result: its size, the map from the picture, and the part that shows the picture."""

    def __init__(self, width, height):
        self.w, self.h = width, height
        self.map = (Fraction(1), Fraction(0), Fraction(0), Fraction(0), Fraction(1), Fraction(0))
        self.shown, self.warped = (0, 0, width, height), False

    def move(self, xx, xy, x0, yx, yy, y0):
        a, b, c, d, e, f = self.map
        self.map = (xx * a + xy * d, xx * b + xy * e, xx * c + xy * f + x0,
                    yx * a + yy * d, yx * b + yy * e, yx * c + yy * f + y0)

    def show(self, xx, xy, x0, yx, yy, y0):
        """Moves the shown part as `move` moves points."""
        l, t, r, b = self.shown
        xs = sorted((xx * l + xy * t + x0, xx * r + xy * b + x0))
        ys = sorted((yx * l + yy * t + y0, yx * r + yy * b + y0))
        self.shown = (xs[0], ys[0], xs[1], ys[1])
        self.move(xx, xy, x0, yx, yy, y0)

    def crop(self, left, top, width, height):
        self.show(1, 0, -left, 0, 1, -top)
        l, t, r, b = self.shown
        self.shown = (max(l, 0), max(t, 0), min(r, width), min(b, height))
        self.w, self.h = width, height

    def resize(self, width, height):
        self.show(Fraction(width, self.w), 0, 0, 0, Fraction(height, self.h), 0)
        self.w, self.h = width, height

    def across(self):
        self.show(-1, 0, self.w, 0, 1, 0)

    def down(self):
        self.show(1, 0, 0, 0, -1, self.h)

    def quarter(self):
        self.show(0, 1, 0, -1, 0, self.w)
        self.w, self.h = self.h, self.w


def resized_rectangle(w, h, stream, scale=(0.08, 1.0), ratio=(3.0 / 4, 4.0 / 3)):
    """Left, top, width and height; and how many tries failed."""
    for tries in range(10):
        area = float(w) * h * stream.between(*scale)
        shape = exp(stream.between(log(ratio[0]), log(ratio[1])))
        width, height = math.sqrt(area * shape), math.sqrt(area / shape)
        if width + 0.5 >= w + 1 or height + 0.5 >= h + 1:
            continue
        width, height = int(width + 0.5), int(height + 0.5)
        if width and height:
            left = stream.below(w - width + 1)
            return (left, stream.below(h - height + 1), width, height), tries
    width, height = w, h
    if w / h < ratio[0]:
        height = min(max(int(w / ratio[0] + 0.5), 1), h)
    elif w / h > ratio[1]:
        width = min(max(int(h * ratio[1] + 0.5), 1), w)
    return ((w - width) // 2, (h - height) // 2, width, height), 10


def random_resized_crop(w, h, **ranges):
    def step(frame, stream):
        frame.crop(*resized_rectangle(frame.w, frame.h, stream, **ranges)[0])
        frame.resize(w, h)
    return 1, step


def random_crop(w, h, padding=0):
    def step(frame, stream):
        offsets = []
        for of, to in ((frame.w, w), (frame.h, h)):
            n = of + 2 * padding - to
            d = stream.below(abs(n) + 1)
            offsets.append((d if n >= 0 else -d) - padding)
        frame.crop(*offsets, w, h)
    return 2, step


def horizontal_flip(probability=0.5):
    return 3, lambda frame, stream: stream.uniform() < probability and frame.across()


def vertical_flip(probability=0.5):
    return 4, lambda frame, stream: stream.uniform() < probability and frame.down()


def random_quarter_turns(probability=0.75):
    def step(frame, stream):
        if stream.uniform() < probability:
            for _ in range(stream.below(3) + 1):
                frame.quarter()
    return 5, step


def random_translate(padding, reflect=False):
    def step(frame, stream):
        offsets = []
        for of in (frame.w, frame.h):
            n = min(padding, (of - 1) // 2) if reflect else padding
            offsets.append(stream.below(2 * n + 1) - n)
        frame.crop(*offsets, frame.w, frame.h)
    return 6, step


def random_affine(degrees, translate=(0, 0), scale=(1, 1), shear_x=(0, 0), shear_y=(0, 0), probability=1):
    def step(frame, stream):
        taken = stream.uniform() < probability
        r = math.radians(stream.between(*degrees))
        a, b = translate[0] * frame.w, translate[1] * frame.h
        shift = round(stream.between(-a, a)), round(stream.between(-b, b))
        size = stream.between(*scale)
        s, t = math.radians(stream.between(*shear_x)), math.radians(stream.between(*shear_y))
        if not taken:
            return
        a, c = math.cos(r - t) / math.cos(t), math.sin(r - t) / math.cos(t)
        xx, xy = size * a, size * (-a * math.tan(s) - math.sin(r))
        yx, yy = size * c, size * (-c * math.tan(s) + math.cos(r))
        x, y = frame.w / 2, frame.h / 2
        frame.move(xx, xy, x + shift[0] - xx * x - xy * y, yx, yy, y + shift[1] - yx * x - yy * y)
        frame.warped = True
    return 7, step


def center_crop(w, h):
    def offset(of, to):
        return round((of - to) / 2) if of >= to else -((to - of) // 2)
    return None, lambda frame, _: frame.crop(offset(frame.w, w), offset(frame.h, h), w, h)


def center_resized_crop(w, h, ratio=224.0 / 256):
    def step(frame, _):
        long, of = (frame.w, w) if frame.w * h <= frame.h * w else (frame.h, h)
        width = min(max(int(ratio * (float(long) * w / of)), 1), frame.w)
        height = min(max(int(ratio * (float(long) * h / of)), 1), frame.h)
        frame.crop((frame.w - width) // 2, (frame.h - height) // 2, width, height)
        frame.resize(w, h)
    return None, step


def resize(w, h):
    return None, lambda frame, _: frame.resize(w, h)


def resize_short_side(side):
    def step(frame, _):
        w, h = frame.w, frame.h
        longer = min(max(side * max(w, h) // min(w, h), 1), 65535)
        frame.resize(*((side, longer) if w <= h else (longer, side)))
    return None, step


def frame_of(steps, width, height, seed, position):
    """`seed`: the draw seed. Steps that change pixels are passed over."""
    frame, earlier = Frame(width, height), {}
    for kind, step in steps:
        if step in CHANGES:
            continue
        k = earlier[kind] = earlier.get(kind, -1) + 1
        step(frame, kind and Stream(seed, MOVING, position, kind + 16 * k))
    return frame


# --- Steps that change pixels: an operation is a tuple of its name and its numbers.

CHANGES = []


def changing(kind, probability, draw):
    """`draw(stream, w, h)` gives the operations."""
    def step(stream, w, h):
        return draw(stream, w, h) if stream.uniform() < probability else []
    CHANGES.append(step)
    return kind, step


def color_jitter(brightness=0, contrast=0, saturation=0, hue=0, probability=1):
    def draw(stream, w, h):
        drawn = [stream.between(max(0.0, 1 - x), 1 + x) for x in (brightness, contrast, saturation)]
        drawn.append(stream.between(-hue, hue))
        order = [0, 1, 2, 3]
        for i in (3, 2, 1):
            j = stream.below(i + 1)
            order[i], order[j] = order[j], order[i]
        names, sizes = ("brightness", "contrast", "saturation", "hue"), (brightness, contrast, saturation, hue)
        return [(names[i], float32(drawn[i])) for i in order if sizes[i] > 0]
    return changing(1, probability, draw)


def random_hsv(hue=0.015, saturation=0.7, value=0.4, probability=1):
    def draw(stream, w, h):
        return [("hsv", float32(stream.between(-hue, hue)),
                 *(float32(stream.between(1 - x, 1 + x)) for x in (saturation, value)))]
    return changing(13, probability, draw)


def random_photometric_distort(probability=0.5):
    def draw(stream, w, h):
        drawn = {}
        for name, low, high in (("brightness", 0.875, 1.125), ("contrast", 0.5, 1.5), ("saturation", 0.5, 1.5),
                                ("hue", -0.05, 0.05)):
            runs = stream.uniform() < probability
            factor = float32(stream.between(low, high))
            drawn[name] = [(name, factor)] if runs else []
        second = stream.uniform() < 0.5
        runs = stream.uniform() < probability
        order = [0, 1, 2]
        for i in (2, 1):
            j = stream.below(i + 1)
            order[i], order[j] = order[j], order[i]
        names = ("brightness", "contrast", "saturation", "hue") if second else (
            "brightness", "saturation", "hue", "contrast")
        exchange = [("exchange", order[0] + 4 * order[1] + 16 * order[2])] if runs else []
        return [one for name in names for one in drawn[name]] + exchange
    return changing(14, 1, draw)


def plain(kind, name, probability, *numbers):
    return changing(kind, probability, lambda stream, w, h: [(name, *numbers)])


def gaussian_blur(kernel, sigma=(0.1, 2.0), probability=1):
    def draw(stream, w, h):
        drawn = stream.between(*sigma)
        xs = [(i - (kernel - 1) / 2) / drawn for i in range(kernel)]
        es, total = [exp(max(-0.5 * x * x, -600.0)) for x in xs], 0.0
        for e in es:
            total += e
        weights = [int(e / total * 65536 + 0.5) for e in es[:kernel // 2 + 1]]
        weights[-1] += 65536 - 2 * sum(weights[:-1]) - weights[-1]
        return [("blur", kernel, *weights)]
    return changing(3, probability, draw)


def random_erasing(probability=0.5, scale=(0.02, 0.33), ratio=(0.3, 3.3), noise=False):
    def draw(stream, w, h):
        for _ in range(10):
            area = float(w) * h * stream.between(*scale)
            shape = exp(stream.between(log(ratio[0]), log(ratio[1])))
            height, width = int(math.sqrt(area * shape) + 0.5), int(math.sqrt(area / shape) + 0.5)
            if height >= h or width >= w:
                continue
            top = stream.below(h - height + 1)
            rectangle = (stream.below(w - width + 1), top, width, height)
            if noise:
                return [("noise", *rectangle, *(stream.word() >> 24 for _ in range(5)))]
            return [("erase", *rectangle)]
        return []
    return changing(10, probability, draw)


def augment(number, wide, m, b, negative, w, h):
    s = m / (b - 1)
    magnitude = {1: (0.99 if wide else 0.3) * s, 2: (0.99 if wide else 0.3) * s,
                 3: (32 if wide else 150.0 / 331 * w) * s, 4: (32 if wide else 150.0 / 331 * h) * s,
                 5: (135 if wide else 30) * s, 10: 8 - round(m / ((b - 1) / (6.0 if wide else 4.0))),
                 11: 255 - 255 * s}.get(number, (0.99 if wide else 0.9) * s)
    if negative and 1 <= number <= 9:
        magnitude = -magnitude
    angle = math.radians(magnitude)
    x, y, sine, cosine = w / 2, h / 2, math.sin(angle), math.cos(angle)
    return [[], [("shows", 1, magnitude, 0, 0, 1, 0)], [("shows", 1, 0, 0, magnitude, 1, 0)],
            [("shows", 1, 0, -int(magnitude), 0, 1, 0)], [("shows", 1, 0, 0, 0, 1, -int(magnitude))],
            [("shows", cosine, -sine, x - cosine * x + sine * y, sine, cosine, y - sine * x - cosine * y)],
            [("brightness", float32(1 + magnitude))], [("saturation", float32(1 + magnitude))],
            [("contrast", float32(1 + magnitude))], [("sharpness", float32(1 + magnitude))],
            [("posterize", int(magnitude))], [("solarize", math.ceil(magnitude))],
            [("stretch",)], [("equalize",)]][number]


def rand_augment(operations=2, magnitude=9, bins=31, probability=1):
    def draw(stream, w, h):
        found = []
        for _ in range(operations):
            number = stream.below(14)
            found += augment(number, False, magnitude, bins, stream.below(2) == 1, w, h)
        return found
    return changing(11, probability, draw)


def trivial_augment_wide(bins=31, probability=1):
    def draw(stream, w, h):
        number = stream.below(14)
        m = stream.below(bins)
        return augment(number, True, m, bins, stream.below(2) == 1, w, h)
    return changing(12, probability, draw)


def operations_of(steps, width, height, seed, position):
    found, earlier = [], {}
    for kind, step in steps:
        if step not in CHANGES:
            continue
        k = earlier[kind] = earlier.get(kind, -1) + 1
        found += step(Stream(seed, CHANGING, position, kind + 256 * k), width, height)
    return found


# --- Steps that mix a batch

def beta(alpha, stream):
    def small(x):
        return 0.0 if x < -600 else exp(x)
    while alpha > 1:
        x = stream.uniform()
        d = 4 * x * (1 - x)
        if d > 0 and 1 - stream.uniform() <= small((alpha - 1) * log(d)):
            return x
    while True:
        a = log(1 - stream.uniform())
        b = log(1 - stream.uniform())
        x, y = a / alpha, b / alpha
        if small(x) + small(y) <= 1:
            m = max(x, y)
            return small(x - m) / (small(x - m) + small(y - m))


def mix_up(seed, position, alpha=0.2, probability=1.0, k=0):
    """Lambda, or None."""
    stream = Stream(seed, MIXING, position, 1 + 256 * k)
    return beta(alpha, stream) if stream.uniform() < probability else None


def cut_mix(seed, position, w, h, alpha=1.0, probability=1.0, k=0):
    """Lambda' and the rectangle (left, top, right, bottom), or None."""
    stream = Stream(seed, MIXING, position, 2 + 256 * k)
    if not stream.uniform() < probability:
        return None
    share = beta(alpha, stream)
    x = stream.below(w)
    y = stream.below(h)
    r = 0.5 * math.sqrt(1 - share)
    a, b = int(r * w), int(r * h)
    left, top, right, bottom = max(x - a, 0), max(y - b, 0), min(x + a, w), min(y + b, h)
    return 1 - (right - left) * (bottom - top) / (w * h), (left, top, right, bottom)


# --- Sizes

def progressive_side(epoch, low, high, begin, end, multiple=32):
    s = 0.0 if epoch <= begin else (min(epoch, end) - begin) / (end - begin)
    return round((low + s * (high - low)) / multiple) * multiple


# --- The values that the test compares. Its cases have the same texts (sluice/parse_pipeline.h).

CASES = [
    ("rrc:224,flip", [random_resized_crop(224, 224), horizontal_flip()], 500, 375),
    ("rrc:224", [random_resized_crop(224, 224)], 150, 20),
    ("rrc:64", [random_resized_crop(64, 64)], 3, 500),
    ("rrc:8", [random_resized_crop(8, 8)], 2, 1),
    ("rrc:160x96/0.35/0.9/0.5/3", [random_resized_crop(160, 96, scale=(0.35, 0.9), ratio=(0.5, 3.0))], 65535, 4097),
    ("flip:0.3,rrc:96,vflip,rrc:64,flip",
     [horizontal_flip(0.3), random_resized_crop(96, 96), vertical_flip(), random_resized_crop(64, 64),
      horizontal_flip()], 321, 123),
    ("flip,flip,vflip,vflip", [horizontal_flip(), horizontal_flip(), vertical_flip(), vertical_flip()], 31, 17),
    ("crop:32+4,flip", [random_crop(32, 32, 4), horizontal_flip()], 32, 32),
    ("crop:40x24+3", [random_crop(40, 24, 3)], 28, 28),
    ("crop:20x200", [random_crop(20, 200)], 100, 50),
    ("turns,translate:6,turns:0.5,crop:24",
     [random_quarter_turns(), random_translate(6), random_quarter_turns(0.5), random_crop(24, 24)], 40, 40),
    ("translate:9:reflect", [random_translate(9, True)], 11, 300),
    ("short:256,center:224", [resize_short_side(256), center_crop(224, 224)], 500, 333),
    ("short:100,crop:90,vflip:0.8", [resize_short_side(100), random_crop(90, 90), vertical_flip(0.8)], 333, 500),
    ("center:51x10", [center_crop(51, 10)], 40, 13),
    ("crc:160x224,vflip", [center_resized_crop(160, 224), vertical_flip()], 501, 499),
    ("resize:80x60,affine:15,flip",
     [resize(80, 60), random_affine((-15, 15)), horizontal_flip()], 500, 375),
    ("affine:20/0.1/0.8/1.2/10@0.7,vflip",
     [random_affine((-20, 20), (0.1, 0.1), (0.8, 1.2), (-10, 10), probability=0.7), vertical_flip()], 64, 48),
    ("jitter:0.4/0.4/0.4/0.1@0.8,gray:0.3",
     [color_jitter(0.4, 0.4, 0.4, 0.1, 0.8), plain(2, "grey", 0.3)], 224, 224),
    ("jitter:1.5/0/0.2", [color_jitter(1.5, 0, 0.2)], 8, 8),
    ("hsv@0.6,hsv:0.1/0.2/0.3", [random_hsv(probability=0.6), random_hsv(0.1, 0.2, 0.3)], 8, 8),
    ("distort,distort:0.8", [random_photometric_distort(), random_photometric_distort(0.8)], 8, 8),
    ("blur:23@0.5,solarize:100@0.2,blur:5/0.05/0.3",
     [gaussian_blur(23, probability=0.5), plain(4, "solarize", 0.2, 100), gaussian_blur(5, (0.05, 0.3))], 224, 224),
    ("posterize:3@0.5,equalize:0.5,autocontrast:0.5,invert:0.5,sharpness:1.5@0.5",
     [plain(5, "posterize", 0.5, 3), plain(6, "equalize", 0.5), plain(7, "stretch", 0.5), plain(8, "invert", 0.5),
      plain(9, "sharpness", 0.5, float32(1.5))], 64, 64),
    ("erase,erase:1/0.5/1", [random_erasing(), random_erasing(1, (0.5, 1.0))], 224, 192),
    ("erase:0.9:noise", [random_erasing(0.9, noise=True)], 64, 64),
    ("randaug:3/12/31", [rand_augment(3, 12, 31)], 224, 160),
    ("trivialaug", [trivial_augment_wide()], 320, 224),
]
POSITIONS = 64
NAMES = ("brightness", "contrast", "saturation", "hue", "hsv", "exchange", "grey", "invert", "solarize", "posterize",
         "erase", "noise", "stretch", "equalize", "sharpness", "blur", "shows")


def fixed(value):
    """In 65536ths, as a 64-bit word."""
    return math.floor(value * 65536 + (0.5 if isinstance(value, float) else Fraction(1, 2))) & M64


def bits(value):
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def words_of(steps, width, height, seed, position):
    frame = frame_of(steps, width, height, seed, position)
    left, top, right, bottom = frame.shown
    shown = left < right and top < bottom
    words = [frame.w, frame.h, *(map(fixed, frame.map) if shown else [0] * 6)]
    if not frame.warped:
        words += map(int, frame.shown if shown else [0] * 4)
    for name, *numbers in operations_of(steps, frame.w, frame.h, seed, position):
        words.append(NAMES.index(name))
        words += [fixed(n) if name == "shows" else bits(n) if isinstance(n, float) else n for n in numbers]
    return words


def mixed_words(alpha, probability, seed, position):
    """MixUp, and CutMix of images of 40 x 24."""
    share = mix_up(seed, position, alpha, probability)
    words = [0] if share is None else [1, bits(share)]
    cut = cut_mix(seed, position, 40, 24, alpha, probability)
    if cut is None:
        return words + [0]
    left, top, right, bottom = cut[1]
    return words + [1, bits(cut[0]), *(cut[1] if left < right and top < bottom else [0] * 4)]


def examples():
    """The lines of the page's examples."""
    seeds = draw_seed(7, 3), draw_seed(7, 3, 1)
    lines = [f"D_0 is 0x{seeds[0]:016X}, and D_1 is 0x{seeds[1]:016X}.", "",
             "| position | crop | mirrored | λ' | rectangle |", "| --- | --- | --- | --- | --- |"]
    for position in (0, 1, 2, 3, 1000003, (1 << 40) + 5):
        crop, _ = resized_rectangle(500, 375, Stream(seeds[0], MOVING, position, 1))
        flip = Stream(seeds[0], MOVING, position, 3).uniform() < 0.5
        share, cut = cut_mix(seeds[0], position, 224, 224)
        rectangle = (cut[0], cut[1], cut[2] - cut[0], cut[3] - cut[1])
        lines.append(f"| {position} | {', '.join(map(str, crop))} | {'yes' if flip else 'no'} | {share!r}"
                     f" | {', '.join(map(str, rectangle))} |")
    thin, tries = resized_rectangle(4000, 20, Stream(seeds[0], MOVING, 0, 1))
    thin = ", ".join(map(str, thin))
    lines += ["", f"At position 0, {tries} tries fail in a picture of 4000 × 20, which gives {thin}."]
    return "\n".join(lines)


if __name__ == "__main__":
    if "--page" in sys.argv:
        print(examples())
        sys.exit()
    print("// Made by draws_by_document.py: steps, width, height, seed, epoch, view, digest, the first eight words.")
    for number, (text, steps, width, height) in enumerate(CASES):
        seed, epoch, view = ((0, 0, 0), (9, 2, 0), (M64, (1 << 32) + 7, 5))[number % 3]
        drawn, words = draw_seed(seed, epoch, view), []
        for position in [*range(POSITIONS), (1 << 40) + 3]:
            words += words_of(steps, width, height, drawn, position)
        first = ", ".join(f"{word}U" for word in words[:8])
        print(f'{{"{text}", {width}, {height}, {seed}U, {epoch}U, {view}, 0x{order_by_document.digest(words):016x}, '
              f'{{{first}}}}},')
    for alpha, probability in ((0.2, 1.0), (1.0, 0.5), (0.01, 1.0), (3.5, 0.9), (100.0, 1.0)):
        words = [word for position in range(POSITIONS)
                 for word in mixed_words(alpha, probability, draw_seed(9, 2), position)]
        first = ", ".join(f"{word}U" for word in words[:8])
        print(f'{{"{alpha} {probability}", 40, 24, 9U, 2U, 0, 0x{order_by_document.digest(words):016x}, {{{first}}}}},')
