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
        self.shown, self.warped, self.gone = (0, 0, width, height), False, False

    def move(self, xx, xy, x0, yx, yy, y0):
        if len(self.map) == 9:
            return self.project((xx, xy, x0, yx, yy, y0, 0, 0))
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
        self.cut(width, height)
        self.w, self.h = width, height

    def resize(self, width, height):
        self.show(Fraction(width, self.w), 0, 0, 0, Fraction(height, self.h), 0)
        self.w, self.h = width, height

    def cut(self, width, height):
        l, t, r, b = self.shown
        self.shown = l, t, r, b = max(l, 0), max(t, 0), min(r, width), min(b, height)
        self.gone = self.gone or l >= r or t >= b  # nothing of the picture is left, whatever follows

    def project(self, numbers):
        """Of a map that is not affine, self.map has three lines of three numbers."""
        m = self.map if len(self.map) == 9 else (*self.map, Fraction(0), Fraction(0), Fraction(1))
        p = (*numbers, Fraction(1))
        self.map = tuple(sum(p[3 * i + k] * m[3 * k + j] for k in range(3)) for i in range(3) for j in range(3))
        self.warped = True

    def seen(self, boxes):
        """Of a map that does not turn: what the result shows of boxes of the picture."""
        a, _, c, _, e, f = self.map
        l, t, r, b = self.shown
        for box in boxes:
            yield tuple(float(min(max(scale * at + shift, low), high)) for at, scale, shift, low, high in
                        zip(box, (a, e, a, e), (c, f, c, f), (l, t, l, t), (r, b, r, b)))

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


def random_affine(degrees, translate=(0, 0), scale=(1, 1), shear_x=(0, 0), shear_y=(0, 0), probability=1, to=None):
    def step(frame, stream):
        taken = stream.uniform() < probability
        r = math.radians(stream.between(*degrees))
        width, height = to or (frame.w, frame.h)
        a, b = translate[0] * width, translate[1] * height
        shift = round(stream.between(-a, a)), round(stream.between(-b, b))
        size = stream.between(*scale)
        s, t = math.radians(stream.between(*shear_x)), math.radians(stream.between(*shear_y))
        if not taken:
            if not to:
                return
            r, shift, size, s, t = 0, (0, 0), 1, 0, 0
        a, c = math.cos(r - t) / math.cos(t), math.sin(r - t) / math.cos(t)
        xx, xy = size * a, size * (-a * math.tan(s) - math.sin(r))
        yx, yy = size * c, size * (-c * math.tan(s) + math.cos(r))
        x, y, u, v = frame.w / 2, frame.h / 2, width / 2, height / 2
        numbers = (xx, xy, u + shift[0] - xx * x - xy * y, yx, yy, v + shift[1] - yx * x - yy * y)
        if to and r == s == t == 0 and not frame.warped:
            frame.show(*numbers)
            frame.cut(width, height)
        else:
            frame.move(*numbers)
            frame.warped = True
        frame.w, frame.h = width, height
    return 7, step


def letterbox(w, h):
    def step(frame, _):
        scale = min(h / frame.h, w / frame.w)
        width, height = (min(max(round(of * scale), 1), most) for of, most in ((frame.w, w), (frame.h, h)))
        frame.resize(width, height)
        left, top = (round(room / 2 - 0.1) if room else 0 for room in (w - width, h - height))
        frame.crop(-left, -top, w, h)
    return None, step


def side(of):
    return min(max(math.floor(of), 1), 65535)


def random_zoom_out(low=1, high=4, probability=0.5):
    def step(frame, stream):
        if not stream.uniform() < probability:
            return
        factor = stream.between(low, high)
        w, h = side(frame.w * factor), side(frame.h * factor)
        left, top = math.floor((w - frame.w) * stream.uniform()), math.floor((h - frame.h) * stream.uniform())
        frame.crop(-left, -top, w, h)
    return 8, step


BOXES = ((10, 20, 60, 90), (100, 30, 140, 60), (5, 5, 300, 200))


def random_iou_crop(options=(0, 0.1, 0.3, 0.5, 0.7, 0.9, 1)):
    def overlap(a, b):
        def area(l, t, r, b):
            return max(r - l, 0.0) * max(b - t, 0.0)
        both = area(max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3]))
        return both / (area(*a) + area(*b) - both)

    def step(frame, stream):
        boxes = [box for box in frame.seen(BOXES) if box[0] < box[2] and box[1] < box[3]]
        for _ in range(50 if boxes else 0):
            option = options[stream.below(len(options))]
            if option >= 1:
                return
            for _ in range(40):
                w = float(math.floor(frame.w * stream.between(0.3, 1)))
                h = float(math.floor(frame.h * stream.between(0.3, 1)))
                if h and not 0.5 <= w / h <= 2:
                    continue
                left, top = (math.floor((of - to) * stream.uniform()) for of, to in ((frame.w, w), (frame.h, h)))
                crop = left, top, left + w, top + h
                inside = [box for box in boxes if crop[0] < (box[0] + box[2]) / 2 < crop[2]
                          and crop[1] < (box[1] + box[3]) / 2 < crop[3]]
                if w and h and any(overlap(box, crop) >= option for box in inside):
                    frame.crop(left, top, int(w), int(h))
                    return
    return 9, step


def scale_jitter(w, h, low=0.1, high=2):
    def step(frame, stream):
        scale = min(h / frame.h, w / frame.w) * stream.between(low, high)
        frame.resize(side(frame.w * scale), side(frame.h * scale))
    return 10, step


def random_shortest_size(sizes, most=0):
    def step(frame, stream):
        scale = sizes[stream.below(len(sizes))] / min(frame.w, frame.h)
        if most:
            scale = min(scale, most / max(frame.w, frame.h))
        frame.resize(side(frame.w * scale), side(frame.h * scale))
    return 11, step


def fixed_size_crop(w, h):
    def step(frame, stream):
        share = stream.uniform()
        frame.crop(math.floor(max(frame.w - w, 0) * share), math.floor(max(frame.h - h, 0) * share), w, h)
    return 12, step


def random_perspective(distortion=0.5, probability=0.5):
    def step(frame, stream):
        if not stream.uniform() < probability or min(frame.w, frame.h) < 2:
            return
        most = [int(distortion * (of // 2)) for of in (frame.w, frame.h)]
        corners = []
        for right, low in ((0, 0), (1, 0), (1, 1), (0, 1)):
            x, y = stream.below(most[0] + 1), stream.below(most[1] + 1)
            corners.append((frame.w - 1 - most[0] + x if right else x, frame.h - 1 - most[1] + y if low else y))
        w, h = frame.w - 1, frame.h - 1
        frame.project(eight_numbers(((0, 0), (w, 0), (w, h), (0, h)), corners))
    return 13, step


def eight_numbers(points, to):
    """The map (a, b, c, d, e, f, g, h) of (x, y) to (a x + b y + c, d x + e y + f) / (g x + h y + 1): by elimination."""
    rows = []
    for (x, y), (u, v) in zip(points, to):
        rows.append([Fraction(n) for n in (x, y, 1, 0, 0, 0, -u * x, -u * y, u)])
        rows.append([Fraction(n) for n in (0, 0, 0, x, y, 1, -v * x, -v * y, v)])
    for i in range(8):
        pivot = next(row for row in rows[i:] if row[i])
        rows.remove(pivot)
        pivot = [n / pivot[i] for n in pivot]
        rows = [[n - row[i] * p for n, p in zip(row, pivot)] for row in rows]
        rows.insert(i, pivot)
    return [row[8] for row in rows]


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


def random_choice(lists, weights=None):
    """A step that chosen() replaces by one of the lists."""
    return "choice", (lists, weights or [1] * len(lists))


def chosen(steps, seed, position):
    """The steps of the row, without a choice."""
    steps, drawn = list(steps), 0
    while (at := next((i for i, (kind, _) in enumerate(steps) if kind == "choice"), None)) is not None:
        lists, weights = steps[at][1]
        number = 0
        if len(lists) > 1:
            sums = [sum(weights[:i + 1]) for i in range(len(lists))]
            share = Stream(seed, MOVING, position, 15 + 16 * drawn).uniform() * sums[-1]
            number = next(i for i, edge in enumerate(sums) if share < edge)
            drawn += 1
        steps[at:at + 1] = lists[number]
    return steps


def frame_of(steps, width, height, seed, position):
    """`seed`: the draw seed. Steps that change pixels are passed over. Of a mosaic, each position has another part."""
    frame, earlier = Frame(width, height), {}
    frame.part = position % 4
    before = 4096 * frame.part if any(kind == MOSAIC for kind, _ in steps) else 0
    for kind, step in steps:
        if step in CHANGES:
            continue
        if kind == MOSAIC:
            before = 0
        k = earlier[kind] = earlier.get(kind, -1) + 1
        step(frame, kind and Stream(seed, MOVING, position, kind + 16 * k + before))
    return frame


MOSAIC = 14


def mosaic(cell, low=0.5, high=1.5):
    def step(frame, stream):
        x, y = (int(stream.between(cell * low, cell * high)) for _ in range(2))
        m = max(frame.w, frame.h)
        frame.resize(-(-frame.w * cell // m), -(-frame.h * cell // m))
        left, top = x - (frame.part in (0, 2)) * frame.w, y - (frame.part in (0, 1)) * frame.h
        frame.crop(-left, -top, 2 * cell, 2 * cell)
    return MOSAIC, step


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


def copy_paste(seed, position, objects, probability=0.5, k=0):
    """The numbers of the objects that are pasted, or None."""
    stream = Stream(seed, MIXING, position, 3 + 256 * k)
    if not stream.uniform() < probability:
        return None
    return sorted({stream.below(objects) for _ in range(objects)})


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
    ("affine:0/0.1/0.5/1.5/0+320x240,flip",
     [random_affine((0, 0), (0.1, 0.1), (0.5, 1.5), to=(320, 240)), horizontal_flip()], 333, 200),
    ("affine:10/0.1/0.5/1.5/5+64@0.8,center:50,resize:30",
     [random_affine((-10, 10), (0.1, 0.1), (0.5, 1.5), (-5, 5), probability=0.8, to=(64, 64)), center_crop(50, 50),
      resize(30, 30)], 90, 60),
    ("letterbox:64x48,flip", [letterbox(64, 48), horizontal_flip()], 333, 200),
    ("letterbox:65", [letterbox(65, 65)], 30, 47),
    ("zoomout,resize:96x80,vflip", [random_zoom_out(), resize(96, 80), vertical_flip()], 123, 77),
    ("zoomout:1.5/2@1,rrc:64,turns,crop:50+9",
     [random_zoom_out(1.5, 2, 1), random_resized_crop(64, 64), random_quarter_turns(), random_crop(50, 50, 9)], 81, 60),
    ("ioucrop", [random_iou_crop()], 320, 240),
    ("zoomout,ioucrop,resize:300", [random_zoom_out(), random_iou_crop(), resize(300, 300)], 310, 207),
    ("scalejitter:128,fixedcrop:128,flip",
     [scale_jitter(128, 128), fixed_size_crop(128, 128), horizontal_flip()], 200, 155),
    ("scalejitter:90x60/0.8/1.25,fixedcrop:64x50", [scale_jitter(90, 60, 0.8, 1.25), fixed_size_crop(64, 50)], 77, 91),
    ("shortest:48-56-64+90,flip", [random_shortest_size((48, 56, 64), 90), horizontal_flip()], 333, 200),
    ("perspective", [random_perspective()], 97, 64),
    ("resize:50,perspective:0.8@1,crop:40,flip",
     [resize(50, 50), random_perspective(0.8, 1), random_crop(40, 40), horizontal_flip()], 120, 80),
    ("choice(2*shortest:48-56+90|3*shortest:40-50,crop:60|0.5*),flip,choice(jitter:0.4/0.4|solarize:100@1)",
     [random_choice([[random_shortest_size((48, 56), 90)], [random_shortest_size((40, 50)), random_crop(60, 60)], []],
                    [2, 3, 0.5]), horizontal_flip(),
      random_choice([[color_jitter(0.4, 0.4)], [plain(4, "solarize", 1, 100)]])], 123, 77),
    ("flip,choice(0.1*choice(choice(flip|vflip)|crop:50)|0.7*choice(turns:1)|0*flip),choice(rrc:50|resize:50)",
     [horizontal_flip(),
      random_choice([[random_choice([[random_choice([[horizontal_flip()], [vertical_flip()]])], [random_crop(50, 50)]])],
                     [random_choice([[random_quarter_turns(1)]])], [horizontal_flip()]], [0.1, 0.7, 0]),
      random_choice([[random_resized_crop(50, 50)], [resize(50, 50)]])], 60, 60),
    ("flip,rrc:90x70,mosaic:64,flip,crop:80",
     [horizontal_flip(), random_resized_crop(90, 70), mosaic(64), horizontal_flip(), random_crop(80, 80)], 120, 90),
    ("turns,mosaic:51/0.2/1.8,resize:70,turns",
     [random_quarter_turns(), mosaic(51, 0.2, 1.8), resize(70, 70), random_quarter_turns()], 31, 47),
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
    steps = chosen(steps, seed, position)
    frame = frame_of(steps, width, height, seed, position)
    left, top, right, bottom = frame.shown
    shown = left < right and top < bottom and not frame.gone
    if len(frame.map) == 9 and not any(frame.map[6:8]):
        numbers = [n / frame.map[8] for n in frame.map[:6]]  # this projection is affine
    elif len(frame.map) == 9:
        numbers = [n / frame.map[8] for n in frame.map[:8]]
        numbers[6:] = [n * 4096 for n in numbers[6:]]
    else:
        numbers = frame.map
    words = [frame.w, frame.h, *(map(fixed, numbers) if shown else [0] * 6)]
    if not frame.warped:
        words += [math.floor(edge + 1e-6) for edge in (frame.shown if shown else [0] * 4)]
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
    for probability in (0.5, 1.0):
        words = []
        for position in range(POSITIONS):
            pasted = copy_paste(draw_seed(9, 2), position, position % 10, probability)
            words += [0] if pasted is None else [1, len(pasted), *pasted]
        first = ", ".join(f"{word}U" for word in words[:8])
        print(f'{{"copypaste:{probability}", 40, 24, 9U, 2U, 0, 0x{order_by_document.digest(words):016x}, {{{first}}}}},')
