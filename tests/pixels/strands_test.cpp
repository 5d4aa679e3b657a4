// Decodes several restart intervals at the same time, each by a strand. The samples, and whether
// the file is refused, must be the same as if intervals are decoded one after another. Samples must
// also be libjpeg's.
#include <algorithm>
#include <memory>

#include "format/pixels/baseline/header.h"
#include "format/pixels/baseline/huffman.h"
#include "format/pixels/baseline/scan_decoder.h"
#include "format/pixels/jpeg.h"
#include "format/random.h"
#include "tests/catch.h"
#include "tests/pictures.h"
#include "tests/pixels/kernel_sets.h"

using namespace sluice;
using namespace sluice::test;

namespace {

using File = std::vector<std::byte>;
using Samples = std::vector<std::vector<std::uint8_t>>;  // of each component; empty: refused

// Lines of MCUs with coded lengths as different as possible: flat, noise, and in between.
Picture UnequalRows(std::uint32_t width, std::uint32_t height, std::uint32_t channels,
                    std::uint64_t seed) {
  Picture picture = MakePicture(width, height, channels, seed);
  RandomStream random(seed, static_cast<Purpose>(999), 0);
  for (std::uint32_t top = 0; top < height; top += 16) {
    const std::uint64_t kind = random.Below(3);
    const auto grey = static_cast<std::uint8_t>(random.Below(256));
    const std::size_t line = std::size_t{width} * channels;
    for (std::size_t i = top * line; kind != 2 && i < std::min(top + 16, height) * line; ++i)
      picture.pixels[i] = kind == 0 ? grey : static_cast<std::uint8_t>(random.Below(256));
  }
  return picture;
}

Samples SamplesOf(const ColumnPlane* planes, std::uint32_t components) {
  Samples samples(components);
  for (std::uint32_t c = 0; c < components; ++c) {
    const ColumnPlane& plane = planes[c];
    for (std::uint32_t x = plane.x.first; x < plane.x.last; ++x) {
      const std::uint8_t* const column =
          plane.data + (x - plane.left) * plane.stride + (plane.y.first - plane.top);
      samples[c].insert(samples[c].end(), column, column + (plane.y.last - plane.y.first));
    }
  }
  return samples;
}

// A decoder for every set of kernels, with and without strands. Each reuses its memory.
class Decoders {
 public:
  Decoders() {
    for (const kernels::Kernels* set : DecodingSets())
      decoders_.emplace_back(*set);
  }

  // Decodes with all of them, whose results must be the same.
  Samples Decode(const File& file, const Region& region) {
    baseline::Header header;
    REQUIRE(baseline::ParseHeader(file, header));
    Samples first;
    for (std::size_t i = 0; i < decoders_.size(); ++i) {
      const bool taken = decoders_[i].Decode(file, header.width, header.height, region);
      Samples samples;
      if (taken) samples = SamplesOf(decoders_[i].planes(), decoders_[i].components());
      if (i == 0) first = samples;
      REQUIRE(samples == first);
    }
    return first;
  }

 private:
  std::vector<baseline::Decoder> decoders_;
};

Samples ByLibjpeg(const File& file, std::uint32_t width, std::uint32_t height,
                  const Region& region) {
  JpegPlanes reference(kernels::Chosen());
  if (reference.Decode(file, width, height, region) != JpegPlanes::Outcome::kDecoded) return {};
  return SamplesOf(reference.planes(), reference.components());
}

// A part of an axis, resized to `out` samples.
Span ResizedPart(std::uint32_t start, std::uint32_t length, std::uint32_t out) {
  return {.start = double(start),
          .length = double(length),
          .bound = start,
          .bound_length = length,
          .out = out,
          .target = out};
}

// The offset of each segment's first byte, and of the first byte after the last segment's marker.
std::vector<std::size_t> SegmentsOf(const File& file) {
  baseline::Header header;
  REQUIRE(baseline::ParseHeader(file, header));
  std::vector<std::size_t> begins = {file.size() - header.scan.size()};
  for (std::size_t i = begins[0]; i + 1 < file.size(); ++i) {
    if (file[i] == std::byte{0xFF} && file[i + 1] != std::byte{0}) begins.push_back(i + 2);
  }
  return begins;
}

struct alignas(baseline::kBlockBytes) Block {
  std::int16_t coefficient[64] = {};
};

void ListTables(const baseline::BlockTables& block,
                std::vector<const baseline::StrandTable*>& list) {
  for (const baseline::StrandTable& table : block.of)
    list.push_back(&table);
}

// A strand's random bytes and its blocks, in memory of their exact size, so that a sanitizer sees
// an access beyond them.
struct StrandInput {
  static constexpr std::size_t kBlocks = 7;

  explicit StrandInput(RandomStream& random)
      : number(random.Word()),
        size(random.Below(300)),
        bytes(std::make_unique<std::uint8_t[]>(size + kernels::kSlack)),
        blocks(std::make_unique<Block[]>(kBlocks + 1)) {
    const std::uint64_t kind = random.Below(6);  // all ones, all zeros, or anything
    for (std::size_t i = 0; i < size; ++i)
      bytes[i] = static_cast<std::uint8_t>(kind == 0 ? 255 : kind == 1 ? 0 : random.Below(256));
    if (kind == 0 && size > 0) bytes[0] = 0x3F;  // after the code of a DC difference of zero
    const baseline::StrandTables of = baseline::StandardStrandTables(random.Below(2));
    for (std::size_t i = 0; i < kBlocks; ++i)
      ListTables(i % 3 == 2 ? *of.skipped : *of.wanted, tables);
    tables.push_back(&baseline::StrandHalt());
  }

  void Reset() {
    std::fill_n(blocks.get(), kBlocks + 1, Block{});
    strand = {1,
              bytes.get(),
              blocks[0].coefficient,
              tables.data(),
              blocks[kBlocks].coefficient,
              bytes.get() + size};
  }
  bool IsDone() const { return strand.out >= strand.end || strand.in > strand.limit; }
  // The coefficients, if all of them were found.
  std::vector<std::int16_t> Result() const {
    REQUIRE(strand.out <= strand.end);
    const std::int16_t* const begin = blocks[0].coefficient;
    REQUIRE(
        std::all_of(strand.end, strand.end + 64, [](std::int16_t value) { return value == 0; }));
    if (strand.out != strand.end) return {};
    return {begin, strand.end};
  }

  std::uint64_t number;  // to sort by
  std::size_t size;
  std::unique_ptr<std::uint8_t[]> bytes;
  std::unique_ptr<Block[]> blocks;
  std::vector<const baseline::StrandTable*> tables;
  kernels::Strand strand;
};

File SevenRows() {
  JpegOptions options;
  options.restart_rows = 1;
  options.quality = 90;
  return MakeJpeg(UnequalRows(80, 7 * 16, 3, 5), options);
}

}  // namespace

TEST_CASE("One to nine intervals of unequal length, in any sampling, have libjpeg's samples") {
  Decoders decoders;
  for (std::uint32_t rows = 1; rows <= 9; ++rows) {
    for (const auto& [channels, h, v] :
         {std::tuple{1U, 1, 1}, {3U, 1, 1}, {3U, 2, 1}, {3U, 2, 2}}) {
      JpegOptions options;
      options.luma_h = h;
      options.luma_v = v;
      options.quality = rows % 3 == 0 ? 100 : rows % 3 == 1 ? 90 : 60;
      options.restart_rows = 1;
      const std::uint32_t height = rows * 8 * static_cast<std::uint32_t>(v);
      const File file = MakeJpeg(UnequalRows(150, height, channels, rows), options);
      const Region whole = Region::Whole(150, height);
      INFO(rows << " intervals, " << channels << " channels " << h << "x" << v);
      const Samples expected = ByLibjpeg(file, 150, height, whole);
      REQUIRE_FALSE(expected.empty());
      REQUIRE(decoders.Decode(file, whole) == expected);
    }
  }
}

TEST_CASE("Intervals that begin and end anywhere have the same samples, whole and in part") {
  Decoders decoders;
  const Picture picture = UnequalRows(203, 157, 3, 11);
  for (const unsigned interval : {1U, 2U, 4U, 9U, 12U, 14U, 26U, 40U}) {
    JpegOptions options;
    options.restart_interval = interval;
    options.quality = 85;
    const File file = MakeJpeg(picture, options);
    for (const Region& region :
         {Region::Whole(203, 157), Region{ResizedPart(60, 90, 45), ResizedPart(33, 80, 40)},
          Region{ResizedPart(150, 53, 53), ResizedPart(100, 57, 57)},
          // An eighth: only mean values.
          Region{ResizedPart(0, 203, 25), ResizedPart(0, 157, 19)}}) {
      INFO("interval " << interval << ", " << region.x.start << " " << region.y.start);
      const Samples samples = decoders.Decode(file, region);
      REQUIRE_FALSE(samples.empty());
      if (region.x.out == region.x.length) REQUIRE(samples == ByLibjpeg(file, 203, 157, region));
    }
  }
}

TEST_CASE("A change in any byte of an interval is judged alike, whichever strand decodes it") {
  Decoders decoders;
  const File file = SevenRows();
  const Region whole = Region::Whole(80, 112);
  RandomStream random(3, static_cast<Purpose>(999), 0);
  std::size_t refused = 0;
  std::size_t taken = 0;
  const std::vector<std::size_t> begins = SegmentsOf(file);
  REQUIRE(begins.size() == 8);
  for (std::size_t s = 0; s < 7; ++s) {
    for (int i = 0; i < 40; ++i) {
      File broken = file;
      const std::size_t at = begins[s] + random.Below(begins[s + 1] - 2 - begins[s]);
      broken[at] ^= std::byte(1 + random.Below(255));
      INFO("interval " << s << ", byte " << at);
      const Samples samples = decoders.Decode(broken, whole);
      ++(samples.empty() ? refused : taken);
      // If we accept a file, libjpeg accepts it, too.
      if (!samples.empty()) REQUIRE(samples == ByLibjpeg(broken, 80, 112, whole));
    }
  }
  CHECK(refused > 20);
  CHECK(taken > 20);
}

TEST_CASE("An interval that ends too early or too late is refused, whichever strand decodes it") {
  Decoders decoders;
  const File file = SevenRows();
  const Region whole = Region::Whole(80, 112);
  REQUIRE_FALSE(decoders.Decode(file, whole).empty());
  const std::vector<std::size_t> begins = SegmentsOf(file);
  for (std::size_t s = 0; s < 7; ++s) {
    const auto begin = file.begin() + static_cast<std::ptrdiff_t>(begins[s]);
    const auto end = file.begin() + static_cast<std::ptrdiff_t>(begins[s + 1] - 2);
    for (std::ptrdiff_t cut = 1; cut <= end - begin; cut += cut < 12 ? 1 : 29) {
      File early(file.begin(), end - cut);
      // A last 0xFF would make a marker with the byte after it.
      if (early.back() == std::byte{0xFF}) early.push_back(std::byte{0});
      early.insert(early.end(), end, file.end());
      INFO("interval " << s << ", without its last " << cut << " bytes");
      REQUIRE(decoders.Decode(early, whole).empty());
    }
    for (const std::byte more : {std::byte{0}, std::byte{0x55}, std::byte{0x9F}}) {
      for (const std::size_t count : {1U, 2U, 8U, 100U}) {
        File late(file.begin(), end);
        late.insert(late.end(), count, more);
        late.insert(late.end(), end, file.end());
        INFO("interval " << s << ", with " << count << " more bytes");
        REQUIRE(decoders.Decode(late, whole).empty());
      }
    }
  }
}

TEST_CASE("Swapped intervals are decoded where they stand, and missing ones are refused") {
  Decoders decoders;
  const File file = SevenRows();
  const Region whole = Region::Whole(80, 112);
  const std::vector<std::size_t> begins = SegmentsOf(file);
  const auto segment = [&](std::size_t s) {
    return File(file.begin() + static_cast<std::ptrdiff_t>(begins[s]),
                file.begin() + static_cast<std::ptrdiff_t>(begins[s + 1] - 2));
  };
  const auto with = [&](const std::vector<std::size_t>& order) {
    File made(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(begins[0]));
    for (std::size_t i = 0; i < order.size(); ++i) {
      const File bytes = segment(order[i]);
      made.insert(made.end(), bytes.begin(), bytes.end());
      made.push_back(std::byte{0xFF});
      made.push_back(i + 1 < order.size() ? std::byte(0xD0 + i % 8) : std::byte{0xD9});
    }
    return made;
  };
  CHECK(with({0, 1, 2, 3, 4, 5, 6}) == file);
  for (const auto& order : {std::vector<std::size_t>{6, 5, 4, 3, 2, 1, 0},
                            {0, 0, 0, 3, 3, 3, 3},
                            {2, 0, 1, 5, 3, 4, 6}}) {
    const File changed = with(order);
    REQUIRE(decoders.Decode(changed, whole) == ByLibjpeg(changed, 80, 112, whole));
  }
  CHECK(decoders.Decode(with({0, 1, 2, 3, 4, 5}), whole).empty());
  CHECK(decoders.Decode(with({0}), whole).empty());
}

namespace {

// Runs strands until all of them are done.
void RunAll(const kernels::Kernels& set, std::vector<kernels::Strand*> strands) {
  while (!strands.empty()) {
    kernels::Strand running[kernels::kStrands];
    for (std::size_t i = 0; i < strands.size(); ++i)
      running[i] = *strands[i];
    set.run_strands(running, strands.size());
    for (std::size_t i = strands.size(); i-- > 0;) {
      *strands[i] = running[i];
      if (running[i].out < running[i].end && running[i].in <= running[i].limit) continue;
      strands.erase(strands.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
}

// Blocks of coefficients, coded with the standard's tables.
struct Coded {
  static constexpr std::size_t kBlocks = 40;

  // Draws values of any size, with a run of zeros of any length before each, up to the last
  // coefficient.
  explicit Coded(RandomStream& random)
      : number(random.Below(baseline::kStandardTables)),
        tables(baseline::StandardStrandTables(number)),
        blocks(kBlocks),
        bytes(kBlocks * kernels::kMaxBlockBytes + kernels::kSlack) {
    const auto value = [&](std::uint64_t max_size) {
      const std::uint64_t size = random.Below(max_size + 1);
      const auto magnitude =
          static_cast<std::int16_t>((1ULL << size >> 1) + random.Below(((1ULL << size) + 1) / 2));
      return random.Below(2) == 0 ? magnitude : static_cast<std::int16_t>(-magnitude);
    };
    for (Block& block : blocks) {
      block.coefficient[0] = value(10);  // so that differences have eleven bits at most
      const std::uint64_t max_size = 1 + random.Below(10), max_step = 1 + random.Below(40);
      for (std::uint64_t at = 0; (at += 1 + random.Below(max_step)) < 64;)
        block.coefficient[at] = value(max_size);
    }
    kernels::CodeJob job;
    job.component[0].table = baseline::StandardCodingTable(number);
    job.components = 1;
    job.blocks = blocks[0].coefficient;
    job.mcus = kBlocks;
    job.out = bytes.data();
    kernels::Chosen().code_blocks(job);
    *job.out = static_cast<std::uint8_t>(job.bits << (8 - job.bit_count));
    bits = static_cast<std::size_t>(job.out - bytes.data()) * 8 + job.bit_count;
  }

  std::size_t number;
  baseline::StrandTables tables;
  std::vector<Block> blocks;
  std::vector<std::uint8_t> bytes;
  std::size_t bits = 0;
};

// A strand that decodes `source`, and the blocks that it fills.
struct Decoding {
  Decoding(const Coded& source, bool of_wanted)
      : coded(source), wanted(of_wanted), blocks(Coded::kBlocks + 1) {
    for (std::size_t i = 0; i < Coded::kBlocks; ++i)
      ListTables(wanted ? *coded.tables.wanted : *coded.tables.skipped, list);
    list.push_back(&baseline::StrandHalt());
    strand = {1,
              coded.bytes.data(),
              blocks[0].coefficient,
              list.data(),
              blocks[Coded::kBlocks].coefficient,
              coded.bytes.data() + (coded.bits + 7) / 8};
  }

  void Check() {
    REQUIRE(strand.out == strand.end);
    REQUIRE(static_cast<std::size_t>(strand.in - coded.bytes.data()) * 8 +
                static_cast<std::size_t>(__builtin_ctzll(strand.bits)) ==
            coded.bits);
    int dc = 0;
    for (std::size_t b = 0; b < Coded::kBlocks; ++b) {
      std::int16_t* const got = blocks[b].coefficient;
      got[0] = static_cast<std::int16_t>(dc += got[0]);
      Block expected = coded.blocks[b];
      if (!wanted) std::fill(expected.coefficient + 1, expected.coefficient + 64, 0);
      REQUIRE(std::equal(got, got + 64, expected.coefficient));
    }
  }

  const Coded& coded;
  bool wanted;
  std::vector<Block> blocks;
  std::vector<const baseline::StrandTable*> list;
  kernels::Strand strand;
};

}  // namespace

TEST_CASE("Strands give the coefficients that were coded, whatever they are") {
  RandomStream random(17, static_cast<Purpose>(999), 0);
  for (int round = 0; round < 100; ++round) {
    std::vector<Coded> coded;
    for (std::uint64_t count = 1 + random.Below(kernels::kStrands); count > 0; --count)
      coded.emplace_back(random);
    for (const kernels::Kernels* set : Sets()) {
      for (const bool wanted : {true, false}) {
        INFO("round " << round << ", " << set->name << (wanted ? "" : ", skipped"));
        std::vector<Decoding> decodings;
        for (const Coded& one : coded)
          decodings.emplace_back(one, wanted);
        std::vector<kernels::Strand*> strands;
        for (Decoding& one : decodings)
          strands.push_back(&one.strand);
        RunAll(*set, strands);
        for (Decoding& one : decodings)
          one.Check();
      }
    }
  }
}

TEST_CASE("Strands stay inside their bytes and blocks for any input, the same in every set") {
  RandomStream random(9, static_cast<Purpose>(999), 0);
  for (int round = 0; round < 1000; ++round) {
    std::vector<StrandInput> inputs;
    for (std::uint64_t count = 1 + random.Below(kernels::kStrands); count > 0; --count)
      inputs.emplace_back(random);
    std::vector<std::vector<std::int16_t>> first;
    for (const kernels::Kernels* set : Sets()) {
      std::vector<std::vector<std::int16_t>> results;
      std::sort(inputs.begin(), inputs.end(),
                [](const StrandInput& a, const StrandInput& b) { return a.number < b.number; });
      for (StrandInput& one : inputs)
        one.Reset();
      for (std::size_t running = inputs.size(); running > 0;) {
        kernels::Strand strands[kernels::kStrands];
        for (std::size_t i = 0; i < running; ++i)
          strands[i] = inputs[i].strand;
        set->run_strands(strands, running);
        for (std::size_t i = 0; i < running; ++i)
          inputs[i].strand = strands[i];
        const auto done = std::find_if(inputs.begin(), inputs.begin() + std::ptrdiff_t(running),
                                       [](const StrandInput& one) { return one.IsDone(); });
        REQUIRE(done != inputs.begin() + std::ptrdiff_t(running));
        results.push_back(done->Result());
        std::swap(*done, inputs[--running]);
      }
      if (first.empty()) first = results;
      REQUIRE(results == first);
    }
  }
}
