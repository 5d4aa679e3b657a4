#!/usr/bin/env python3
"""Prints order_by_document.inc: epochs computed from reader/ORDER.md alone, without any code of the project.

    tests/reader/order_by_document.py > tests/reader/order_by_document.inc

Only the standard library is needed.
"""

from fractions import Fraction

M32, M64 = (1 << 32) - 1, (1 << 64) - 1
BLOCK_ORDER, WINDOW_ORDER, TAIL_ORDER, SAMPLE_ORDER = 2, 3, 4, 5
PERMUTATION, SHARD_DEAL, SAMPLE_DRAW = 7, 8, 9
MIXTURE, MIXTURE_TAIL, MIXTURE_PART = 10, 11, 12
PARTNERS = 13


def philox(key, counter):
    k0, k1 = key & M32, key >> 32
    for _ in range(10):
        p0, p1 = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = ((p1 >> 32) ^ counter[1] ^ k0, p1 & M32, (p0 >> 32) ^ counter[3] ^ k1, p0 & M32)
        k0, k1 = (k0 + 0x9E3779B9) & M32, (k1 + 0xBB67AE85) & M32
    return counter


class Stream:
    def __init__(self, key, purpose, a):
        self.key, self.purpose, self.a, self.next, self.words = key, purpose, a, 0, []

    def word(self):
        if not self.words:
            counter = (self.next, self.a & M32, self.a >> 32, self.purpose << 16)
            self.words = list(philox(self.key, counter))
            self.next += 1
        return self.words.pop(0)

    def number(self):
        high = self.word()
        return high << 32 | self.word()

    def below(self, n):
        while True:
            product = self.number() * n
            if product & M64 >= (1 << 64) % n:
                return product >> 64


def mix(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & M64
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & M64
    return x ^ (x >> 31)


class Permutation:
    def __init__(self, n, key):
        self.n, stream = n, Stream(key, PERMUTATION, n)
        self.table = list(range(n)) if n <= 65536 else None
        if self.table is not None:
            for i in range(n, 1, -1):
                j = stream.below(i)
                self.table[i - 1], self.table[j] = self.table[j], self.table[i - 1]
            return
        bits = (n - 1).bit_length()
        self.low_bits = bits // 2
        self.low, self.high = (1 << self.low_bits) - 1, (1 << (bits - self.low_bits)) - 1
        self.keys = [stream.number() for _ in range(8)]

    def __getitem__(self, i):
        if self.table is not None:
            return self.table[i]
        while True:
            low, high = i & self.low, i >> self.low_bits
            for r in range(0, 8, 2):
                high ^= mix((low + self.keys[r]) & M64) & self.high
                low ^= mix((high + self.keys[r + 1]) & M64) & self.low
            i = high << self.low_bits | low
            if i < self.n:
                return i


class Shape:
    """Shards of (samples, samples of a block, bytes)."""

    def __init__(self, shards):
        self.shards, self.blocks = shards, []  # of (first sample, samples)
        first = 0
        for samples, each, _ in shards:
            for begin in range(0, samples, each):
                self.blocks.append((first + begin, min(each, samples - begin)))
            first += samples
        self.samples = first
        self.bytes = sum(shard[2] for shard in shards)

    def in_turn(self):
        short = sum(1 for samples, each, _ in self.shards if samples % each)
        return len({shard[1] for shard in self.shards}) <= 1 and short <= len(self.blocks) // 8


def window_blocks(shape, lanes, window_bytes):
    lane_bytes = max(shape.bytes // len(shape.blocks), 1) * lanes
    if window_bytes:
        return max(1, window_bytes // lane_bytes)
    return max(2, -(-(64 << 20) // lane_bytes))


def quasi_random(shape, seed, epoch, lane_count, window):
    """All samples of an epoch, in order."""
    permuted = Permutation(len(shape.blocks), Stream(seed, BLOCK_ORDER, epoch).number())
    blocks = [shape.blocks[permuted[i]] for i in range(len(shape.blocks))]
    lanes = [[] for _ in range(lane_count)]
    lengths = [0] * lane_count
    for i, block in enumerate(blocks):
        lane = i % lane_count if shape.in_turn() else lengths.index(min(lengths))
        lanes[lane].append(block)
        lengths[lane] += block[1]
    body = min(lengths)
    window_key = Stream(seed, WINDOW_ORDER, epoch).number()
    sequences = []
    for l, lane in enumerate(lanes):
        sequence, begin, number = [], 0, 0
        while begin < len(lane):
            end = min(begin + (window if number else 1 + l * window // lane_count), len(lane))
            samples = [first + k for first, count in lane[begin:end] for k in range(count)]
            if len(sequence) < body:
                key = Stream(window_key, WINDOW_ORDER, l << 40 | number).number()
                order = Permutation(len(samples), key)
                samples = [samples[order[i]] for i in range(len(samples))]
            sequence += samples
            begin, number = end, number + 1
        sequences.append(sequence)
    epoch_samples = [sequences[p % lane_count][p // lane_count] for p in range(body * lane_count)]
    rest = [sample for sequence in sequences for sample in sequence[body:]]
    tail = Permutation(len(rest), Stream(seed, TAIL_ORDER, epoch).number())
    return epoch_samples + [rest[tail[i]] for i in range(len(rest))]


class Partners:
    def __init__(self, seed, epoch):
        stream = Stream(seed, PARTNERS, epoch)
        self.key, *self.shifts, self.cycle_key = [stream.number() for _ in range(5)]

    def lanes(self, line):
        numbers, stream = list(range(1, 8)), Stream(self.key, PARTNERS, line)
        for i in range(3):
            j = i + stream.below(7 - i)
            numbers[i], numbers[j] = numbers[j], numbers[i]
        return numbers[:3]

    def in_cycle(self, n):
        if n < 4:
            return [1, 2, 3]
        away, stream = [], Stream(self.cycle_key, PARTNERS, n)
        for i in range(3):
            s = 1 + stream.below(n - 1 - i)
            for before in sorted(away):
                s += s >= before
            away.append(s)
        return away


def partners(shape, seed, epoch, lane_count, window):
    """Of all positions of an epoch in quasi-random order, the positions of their three partners."""
    permuted = Permutation(len(shape.blocks), Stream(seed, BLOCK_ORDER, epoch).number())
    lanes = [[] for _ in range(lane_count)]
    lengths = [0] * lane_count
    for i in range(len(shape.blocks)):
        count = shape.blocks[permuted[i]][1]
        lane = i % lane_count if shape.in_turn() else lengths.index(min(lengths))
        lanes[lane].append(count)
        lengths[lane] += count
    body, of = min(lengths), Partners(seed, epoch)
    window_of = []  # by lane and place: where the window begins, and its places before the tail
    for l, counts in enumerate(lanes):
        places, begin, number = [], 0, 0
        while begin < len(counts):
            end = min(begin + (window if number else 1 + l * window // lane_count), len(counts))
            n = sum(counts[begin:end])
            places += [(len(places), min(n, body - len(places)))] * n
            begin, number = end, number + 1
        window_of.append(places)
    found = []
    for t in range(body):
        away = of.lanes(t)
        for l in range(lane_count):
            for d, r in zip(away, of.shifts):
                lane = (l + d * lane_count // 8) % lane_count
                f, n = window_of[lane][t]
                found.append((f + (t - f + r) % n) * lane_count + lane)
    rest = shape.samples - body * lane_count
    for i in range(rest):
        found += [body * lane_count + (i + s) % rest for s in of.in_cycle(rest)]
    return found


def of_list(shape, listed, seed, epoch, lane_count, window):
    """The samples of an epoch of a list."""
    listed = sorted(listed)
    counts, at = [], 0
    for first, count in shape.blocks:
        begin = at
        while at < len(listed) and listed[at] < first + count:
            at += 1
        if at > begin:
            counts.append((at - begin, at - begin, 0))
    return [listed[i] for i in quasi_random(Shape(counts), seed, epoch, lane_count, window)]


def weighted(weights, count, replacement, seed, epoch):
    stream, weights, drawn = Stream(seed, SAMPLE_DRAW, epoch), list(weights), []
    for _ in range(count):
        at, sample = stream.below(sum(weights)), 0
        while at >= weights[sample]:
            at -= weights[sample]
            sample += 1
        drawn.append(sample)
        if not replacement:
            weights[sample] = 0
    return sorted(drawn)


def balanced(labels, classes, per_class, seed, epoch):
    """`labels`: the class numbers of each sample. `classes`: how many the field names, or None."""
    of_class = {}  # only classes with samples
    for sample, numbers in enumerate(labels):
        for number in set(numbers):
            if classes is None or 0 <= number < classes:
                of_class.setdefault(number, []).append(sample)
    stream, drawn = Stream(seed, SAMPLE_DRAW, epoch), []
    for number in sorted(of_class):
        members = of_class[number]
        drawn += members * (per_class // len(members))
        chosen = Permutation(len(members), stream.number())
        drawn += [members[chosen[i]] for i in range(per_class % len(members))]
    return sorted(drawn)


def deal_shards(shape, ranks, seed, epoch):
    """The rank of each shard."""
    order = Permutation(len(shape.shards), Stream(seed, SHARD_DEAL, epoch).number())
    has, rank_of = [0] * ranks, [0] * len(shape.shards)
    for i in range(len(shape.shards)):
        rank = has.index(min(has))
        rank_of[order[i]] = rank
        has[rank] += shape.shards[order[i]][0]
    return rank_of


def apportion(total, weights):
    shares = [total * w // sum(weights) for w in weights]
    by_rest = sorted(range(len(weights)), key=lambda k: -(total * weights[k] % sum(weights)))
    for k in by_rest[:total - sum(shares)]:
        shares[k] += 1
    return shares


class Mixture:
    def __init__(self, shapes, weights, seed, lane_count, window_bytes):
        self.shapes, self.weights, self.seed = shapes, weights, seed
        self.lanes, self.window_bytes = lane_count, window_bytes
        self.orders = {}

    def order(self, k, cycle):
        if (k, cycle) not in self.orders:
            shape, seed = self.shapes[k], Stream(self.seed, MIXTURE_PART, k).number()
            if shape.samples < self.lanes:
                permuted = Permutation(shape.samples, Stream(seed, SAMPLE_ORDER, cycle).number())
                self.orders[k, cycle] = [permuted[p] for p in range(shape.samples)]
            else:
                window = window_blocks(shape, self.lanes, self.window_bytes)
                self.orders[k, cycle] = quasi_random(shape, seed, cycle, self.lanes, window)
        return self.orders[k, cycle]

    def sample(self, epoch, draws, k, d):
        number, samples = epoch * draws[k] + d, self.shapes[k].samples
        first = sum(shape.samples for shape in self.shapes[:k])
        return first + self.order(k, number // samples & M64)[number % samples]

    def of_samples(self, draws, epoch):
        """The samples of an epoch. `draws`: the number of draws of each dataset."""
        each = [t // self.lanes for t in draws]
        word = sorted((Fraction(2 * j + 1, 2 * a), k) for k, a in enumerate(each) for j in range(a))
        shift = Permutation(self.lanes, Stream(self.seed, MIXTURE, epoch).number())
        turns, played = [[0] * len(draws) for _ in range(self.lanes)], []
        for t in range(len(word)):
            for c in range(self.lanes):
                k = word[(shift[c] % len(word) + t) % len(word)][1]
                played.append(self.sample(epoch, draws, k, turns[c][k] * self.lanes + c))
                turns[c][k] += 1
        rest = [(k, d) for k, a in enumerate(each) for d in range(a * self.lanes, draws[k])]
        tail = Permutation(len(rest), Stream(self.seed, MIXTURE_TAIL, epoch).number())
        return played + [self.sample(epoch, draws, *rest[tail[i]]) for i in range(len(rest))]

    def until_once(self, q, epoch):
        """An epoch that lasts until dataset q has been played once."""
        w = self.weights
        draws = [(self.shapes[q].samples * w_k + w[q] // 2) // w[q] for w_k in w]
        return self.of_samples(draws, epoch)

    def until_first(self, epoch):
        return self.until_once(0, epoch)

    def until_shortest(self, epoch):
        lengths = [Fraction(s.samples, w) for s, w in zip(self.shapes, self.weights)]
        return self.until_once(lengths.index(min(lengths)), epoch)

    def of_batches(self, batches, batch_size, ranks, epoch):
        rows = apportion(batch_size, self.weights)
        draws = [batches * g * ranks for g in rows]
        of_row = [(k, x) for k, g in enumerate(rows) for x in range(g)]
        key, played = Stream(self.seed, MIXTURE, epoch).number(), []
        for q in range(batches):
            permuted = Permutation(batch_size, Stream(key, MIXTURE_TAIL, q).number())
            for i in range(batch_size):
                k, x = of_row[permuted[i]]
                played += [self.sample(epoch, draws, k, (q * rows[k] + x) * ranks + r)
                           for r in range(ranks)]
        return played


def digest(numbers):
    """FNV-1a, by words of 64 bits."""
    h = 14695981039346656037
    for number in numbers:
        h = ((h ^ number) * 1099511628211) & M64
    return h


def show(name, numbers):
    first = ", ".join(str(n) for n in numbers[:4])
    print(f'{{"{name}", {len(numbers)}, 0x{digest(numbers):016x}, {{{first}}}}},')


# The test has the same shapes.
EVEN = Shape([(1003, 8, 1003 * 1000)] * 5)
WHOLE = Shape([(1024, 16, 1024 * 1000)] * 12)
MANY = Shape([(1 + s * 37 % 90, 8, 2000 * (1 + s * 37 % 90)) for s in range(60)])
MERGED = Shape([(1 + s * 37 % 90, 5 if s % 7 == 0 else 8, 500 * (1 + s * 37 % 90))
                for s in range(60)])
TINY = Shape([(7, 8, 7000)])
LARGE = Shape([(300_007, 4, 300_007 * 100)])  # 75,002 blocks: more than a table has

if __name__ == "__main__":
    print("// Made by order_by_document.py: name, samples, digest, the first four samples.")
    for name, shape in (("even", EVEN), ("whole", WHOLE), ("many", MANY), ("merged", MERGED),
                        ("tiny", TINY)):
        for lanes, window_bytes in ((192, 0), (12, 200_000), (5, 100_000), (1, 1)):
            window = window_blocks(shape, lanes, window_bytes)
            for seed, epoch in ((0, 0), (9, 2)):
                show(f"{name} {lanes} {window_bytes} {seed} {epoch}",
                     quasi_random(shape, seed, epoch, lanes, window))
    show("large 24 1280000 18446744073709551615 4294967296",
         quasi_random(LARGE, M64, 1 << 32, 24, window_blocks(LARGE, 24, 1_280_000)))
    for name, shape in (("even", EVEN), ("whole", WHOLE), ("many", MANY), ("merged", MERGED), ("tiny", TINY)):
        for lanes, window_bytes in ((192, 0), (64, 0), (8, 100_000)):
            for seed, epoch in ((0, 0), (9, 2)):
                show(f"partners {name} {lanes} {window_bytes} {seed} {epoch}",
                     partners(shape, seed, epoch, lanes, window_blocks(shape, lanes, window_bytes)))
    for n in (1, 2, 3, 4, 5, 100, 5015):
        show(f"cycle {n}", [(i + s) % n for i in range(n) for s in Partners(7, 3).in_cycle(n)])
    for name, shape in (("even", EVEN), ("large", LARGE)):
        permuted = Permutation(shape.samples, Stream(7, SAMPLE_ORDER, 3).number())
        show(f"random {name}", [permuted[p] for p in range(shape.samples)])
    listed = [i * i * 7 % EVEN.samples for i in range(900)]
    show("list", of_list(EVEN, listed, 5, 1, 12, window_blocks(EVEN, 12, 200_000)))
    weights = [(i * 37 % 11) << 20 for i in range(500)]
    show("weighted with", weighted(weights, 800, True, 3, 6))
    show("weighted without", weighted(weights, 300, False, 3, 6))
    labels = [[1]] * 5 + [[4]] * 2 + [[6]] * 100  # classes 0, 2, 3, 5 and 7 are empty
    show("balanced", balanced(labels, 8, 12, 3, 6))
    show("dealt", deal_shards(MERGED, 7, 3, 6))
    one, whole = Shape([(1, 8, 1000)]), 1 << 40
    mixed = Mixture([EVEN, one, MANY, WHOLE], [whole, whole // 4, whole // 2, whole], 8, 12, 200_000)
    for epoch in (0, 3):
        show(f"mixture first {epoch}", mixed.until_first(epoch))
        show(f"mixture shortest {epoch}", mixed.until_shortest(epoch))
        show(f"mixture samples {epoch}", mixed.of_samples(apportion(7001, mixed.weights), epoch))
        show(f"mixture batches {epoch}", mixed.of_batches(-(-EVEN.samples // (8 * 3)), 21, 3, epoch))
    short = Mixture([MANY, TINY], [whole, whole // 8 * 5], 8, 192, 0)
    show("mixture tail", short.of_samples(apportion(700, short.weights), 1))
