// Decodes a long segment from three places at once (by three strands), with the file's own Huffman
// tables. The samples, and whether the segment is refused, must be the same as if it is decoded
// from its beginning.
#include <algorithm>
#include <array>
#include <memory>
#include <vector>

#include "format/pixels/baseline/scan_decoder.h"
#include "format/pixels/baseline/segments.h"
#include "format/pixels/baseline/strand_table.h"
#include "format/pixels/baseline/strands.h"
#include "format/random.h"
#include "tests/catch.h"
#include "tests/pictures.h"
#include "tests/pixels/kernel_sets.h"
#include "tests/sanitized.h"

using namespace sluice;
using namespace sluice::test;

namespace {

// A random Huffman table, with codes of any lengths.
baseline::HuffmanSpec RandomSpec(RandomStream& random, bool ac) {
  std::vector<std::uint8_t> symbols;
  for (std::uint32_t symbol = 0; symbol < 256; ++symbol) {
    const std::uint32_t size = symbol & 15;
    const bool exists =
        ac ? size <= 10 && (size != 0 || symbol == 0 || symbol == 0xF0) : symbol <= 11;
    if (exists) symbols.push_back(static_cast<std::uint8_t>(symbol));
  }
  for (std::size_t i = symbols.size(); i > 1; --i)
    std::swap(symbols[i - 1], symbols[random.Below(i)]);
  // Gives the end of a block one of the shortest codes, so that blocks may end soon.
  std::swap(*std::find(symbols.begin(), symbols.end(), 0), symbols[random.Below(3)]);
  symbols.resize(std::max<std::size_t>(3, random.Below(symbols.size() + 1)));
  baseline::HuffmanSpec spec;
  std::uint64_t room = (1U << 16) - 1;  // codes of 16 bits; that of all ones is reserved
  std::uint32_t length = 1;
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    if (random.Below(4) == 0) ++length;
    const auto takes = [&] { return std::uint64_t{1} << (16 - length); };
    while (length < 16 && takes() + (symbols.size() - i - 1) > room)
      ++length;
    if (length > 16 || takes() > room) break;
    room -= takes();
    ++spec.counts[length - 1];
    spec.symbols[spec.symbol_count++] = symbols[i];
  }
  return spec;
}

// The codes by the rule of T.81, C.2.
struct Coder {
  explicit Coder(const baseline::HuffmanSpec& spec) {
    std::uint32_t code = 0, at = 0;
    for (std::uint32_t length = 1; length <= 16; ++length, code <<= 1) {
      for (std::uint32_t i = 0; i < spec.counts[length - 1]; ++i)
        codes.push_back({code++, length, spec.symbols[at++]});
    }
  }
  struct Code {
    std::uint32_t code = 0, length = 0;
    std::uint8_t symbol = 0;
  };
  std::vector<Code> codes;
};

class BitWriter {
 public:
  void Put(std::uint64_t bits, std::uint32_t count) {
    for (std::uint32_t i = count; i-- > 0; ++count_) {
      if (count_ % 8 == 0) bytes_.push_back(0);
      bytes_.back() |= static_cast<std::uint8_t>((bits >> i & 1) << (7 - count_ % 8));
    }
  }
  std::vector<std::uint8_t> Finish() {
    while (count_ % 8 != 0)
      Put(1, 1);
    return bytes_;
  }

 private:
  std::vector<std::uint8_t> bytes_;
  std::size_t count_ = 0;
};

// A scan of random blocks.
struct Scan {
  explicit Scan(RandomStream& random) {
    components = random.Below(3) == 0 ? 1 : 3;
    for (std::uint32_t c = 0; c < components; ++c) {
      // Often the third component has the second's tables.
      codes[c] = c == 2 && random.Below(2) == 0 ? 1 : c;
      for (const std::size_t kind : {0, 1})
        spec[kind][c] = RandomSpec(random, kind == 1);
      across[c] = c == 0 ? 1 + static_cast<std::uint32_t>(random.Below(2)) : 1;
      down[c] = c == 0 ? 1 + static_cast<std::uint32_t>(random.Below(2)) : 1;
      size_log2[c] = random.Below(3) == 0 ? static_cast<std::uint32_t>(random.Below(3)) : 3;
      for (std::int16_t& step : quant[c])
        step = static_cast<std::int16_t>(1 + random.Below(40));
    }
    mcus_across = 1 + static_cast<std::uint32_t>(random.Below(40));
    mcus_down = 1 + static_cast<std::uint32_t>(random.Below(60));
    BitWriter out;
    const std::uint64_t codes_per_block = 1 + random.Below(40);
    for (std::uint32_t m = 0; m < mcus_across * mcus_down; ++m) {
      for (std::uint32_t c = 0; c < components; ++c) {
        for (std::uint32_t b = 0; b < across[c] * down[c]; ++b)
          PutBlock(random, Coder(spec[0][codes[c]]), Coder(spec[1][codes[c]]), codes_per_block,
                   out);
      }
    }
    SetBytes(out.Finish());
  }

  // Puts the bytes, and after them as many zeros as Segments::Read() appends, into memory of
  // exactly this size.
  void SetBytes(const std::vector<std::uint8_t>& from) {
    size = from.size();
    bytes = std::make_unique<std::uint8_t[]>(size + baseline::kSegmentPadding);
    std::copy(from.begin(), from.end(), bytes.get());
  }

  static void PutBlock(RandomStream& random, const Coder& dc, const Coder& ac,
                       std::uint64_t codes_per_block, BitWriter& out) {
    const auto put = [&](const Coder::Code& code) {
      out.Put(code.code, code.length);
      out.Put(random.Below(1ULL << (code.symbol & 15)), code.symbol & 15);
    };
    put(dc.codes[random.Below(dc.codes.size())]);
    for (std::uint32_t k = 0; k < 63;) {
      std::vector<Coder::Code> possible;
      for (const Coder::Code& code : ac.codes) {
        const bool ends = code.symbol == 0;
        if (ends || k + (code.symbol >> 4) < 63) possible.push_back(code);
      }
      Coder::Code code = possible[random.Below(possible.size())];
      if (random.Below(codes_per_block) == 0) {
        code = *std::find_if(possible.begin(), possible.end(),
                             [](const Coder::Code& one) { return one.symbol == 0; });
      }
      put(code);
      if (code.symbol == 0) return;
      k += (code.symbol >> 4) + 1U;
    }
  }

  std::uint32_t components = 1;
  baseline::HuffmanSpec spec[2][3];
  std::uint32_t codes[3] = {};  // which of the specs each component has
  std::uint32_t across[3] = {}, down[3] = {}, size_log2[3] = {};
  std::int16_t quant[3][64];
  std::uint32_t mcus_across = 0, mcus_down = 0;
  std::unique_ptr<std::uint8_t[]> bytes;
  std::size_t size = 0;
};

// Decodes scans from the beginning and from three places; both reuse their memory.
class BothWays {
 public:
  explicit BothWays(const kernels::Kernels& set) : set_(set) {}

  // Decodes in both ways, whose results must be the same, and returns whether the scan is sound.
  // `rows`: how many lines of MCUs to decode. If these are not all rows, anything may follow them.
  bool Decode(const Scan& scan, std::uint32_t rows) {
    kernels::SegmentJob job;
    job.components = scan.components;
    job.bytes = scan.bytes.get();
    job.size = scan.size;
    job.last_mcu = scan.mcus_across * rows;
    job.mcus_across = job.right = scan.mcus_across;
    job.bottom = scan.mcus_down;
    job.whole = rows == scan.mcus_down;
    baseline::OwnTables::Codes codes[3];
    for (std::uint32_t c = 0; c < scan.components; ++c) {
      kernels::ComponentJob& component = job.component[c];
      const std::uint32_t number = scan.codes[c];
      component.dc = &tables_[0][number];
      component.ac = &tables_[1][number];
      for (const std::size_t kind : {0, 1}) {
        baseline::HuffmanTable& table = tables_[kind][number];
        REQUIRE(BuildCodes(scan.spec[kind][number], kind == 1, table));
        BuildLookUps(kind == 1, table);
        if (kind == 1) BuildSkips(table);
      }
      codes[c] = {{&scan.spec[0][number], component.dc}, {&scan.spec[1][number], component.ac}};
      component.quant = scan.quant[c];
      component.across = scan.across[c];
      component.down = scan.down[c];
      component.size_log2 = scan.size_log2[c];
      component.stride = std::size_t{scan.mcus_down * scan.down[c]} << scan.size_log2[c];
    }
    Planes serial, split;
    const bool sound = set_.decode_segment(Onto(serial, job));
    baseline::StrandTables strand_tables[3];
    own_.Find(codes, scan.components, strand_tables);
    const bool split_sound = split_.Decode(set_, Onto(split, job), strand_tables);
    REQUIRE(split_sound == sound);
    if (sound) REQUIRE(split == serial);
    return sound;
  }

 private:
  using Planes = std::array<std::vector<std::uint8_t>, 3>;

  static const kernels::SegmentJob& Onto(Planes& planes, kernels::SegmentJob& job) {
    for (std::uint32_t c = 0; c < job.components; ++c) {
      kernels::ComponentJob& component = job.component[c];
      const std::size_t columns = std::size_t{job.mcus_across * component.across}
                                  << component.size_log2;
      planes[c].assign(columns * component.stride + kernels::kSlack, 0);
      component.plane = planes[c].data();
    }
    return job;
  }

  const kernels::Kernels& set_;
  baseline::HuffmanTable tables_[2][3];
  baseline::OwnTables own_;
  baseline::SplitSegment split_;
};

// Counts finished MCUs, and among them those that waited because a later strand found their blocks.
// Blocks that waited do not lie at `first`.
struct Finished {
  const std::int16_t* first = nullptr;
  std::uint32_t mcus = 0, waited = 0;
};
Finished finished;

void CountFinished(const kernels::SegmentJob& job, const kernels::BlockRun& run) {
  if (finished.first == nullptr) finished.first = run.blocks;
  finished.mcus += run.mcus;
  if (run.blocks != finished.first) finished.waited += run.mcus;
  kernels::Chosen().finish_blocks(job, run);
}

std::vector<std::uint8_t> AllSamples(const baseline::Decoder& decoder) {
  std::vector<std::uint8_t> samples;
  for (std::uint32_t c = 0; c < decoder.components(); ++c) {
    const ColumnPlane& plane = decoder.planes()[c];
    for (std::uint32_t x = plane.x.first; x < plane.x.last; ++x) {
      const std::uint8_t* const column = plane.data + (x - plane.left) * plane.stride - plane.top;
      samples.insert(samples.end(), column + plane.y.first, column + plane.y.last);
    }
  }
  return samples;
}

std::vector<std::unique_ptr<BothWays>> AllWays() {
  std::vector<std::unique_ptr<BothWays>> all;
  for (const kernels::Kernels* set : Sets())
    all.push_back(std::make_unique<BothWays>(*set));
  return all;
}

}  // namespace

TEST_CASE("A segment decoded from three places gives the samples that it gives from its beginning",
          "[no-asan]") {
  RandomStream random(21, static_cast<Purpose>(999), 0);
  const auto all = AllWays();
  for (int round = 0; round < 60; ++round) {
    INFO("round " << round);
    const Scan scan(random);
    for (const auto& set : all) {
      REQUIRE(set->Decode(scan, scan.mcus_down));
      REQUIRE(set->Decode(scan, 1 + static_cast<std::uint32_t>(random.Below(scan.mcus_down))));
    }
  }
}

TEST_CASE("A segment that is refused from its beginning is also refused from three places") {
  RandomStream random(22, static_cast<Purpose>(999), 0);
  const auto all = AllWays();
  int sound = 0, broken = 0;
  for (int round = 0; round < (kSanitized ? 12 : 40); ++round) {
    Scan scan(random);
    const std::vector<std::uint8_t> whole(scan.bytes.get(), scan.bytes.get() + scan.size);
    const std::uint32_t rows = scan.mcus_down;
    for (int change = 0; change < 6; ++change) {
      INFO("round " << round << ", change " << change);
      std::vector<std::uint8_t> bytes = whole;
      scan.mcus_down = rows;
      const std::size_t at = random.Below(bytes.size());
      switch (random.Below(6)) {
        case 0: bytes.resize(at); break;
        case 1: bytes.insert(bytes.end(), 1 + random.Below(100), 0); break;
        case 2: bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at)); break;
        case 3: std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.end(), 255); break;
        case 4: scan.mcus_down = 1 + static_cast<std::uint32_t>(random.Below(rows)); break;
        default: bytes[at] = static_cast<std::uint8_t>(bytes[at] ^ (1U << random.Below(8)));
      }
      scan.SetBytes(bytes);
      for (const auto& set : all)
        ++(set->Decode(scan, scan.mcus_down) ? sound : broken);
    }
  }
  CHECK(sound > 0);
  CHECK(broken > 0);
}

TEST_CASE(
    "Decoding pure noise reads only the segment's bytes, and both ways give the same result") {
  RandomStream random(23, static_cast<Purpose>(999), 0);
  const auto all = AllWays();
  for (int round = 0; round < 40; ++round) {
    INFO("round " << round);
    Scan scan(random);
    std::vector<std::uint8_t> bytes(random.Below(20000));
    for (std::uint8_t& byte : bytes)
      byte = static_cast<std::uint8_t>(random.Below(256));
    scan.SetBytes(bytes);
    for (const auto& set : all)
      set->Decode(scan, scan.mcus_down);
  }
}

TEST_CASE("In a picture without restart markers, strands after the first find most blocks") {
  kernels::Kernels serial_set = kernels::Chosen(), split_set = kernels::Chosen();
  serial_set.strands_pay = false;
  split_set.strands_pay = true;
  split_set.finish_blocks = CountFinished;
  baseline::Decoder serial(serial_set), split(split_set);
  for (const bool optimise : {true, false}) {
    for (const std::uint32_t channels : {3U, 1U}) {
      for (const bool subsample : {true, false}) {
        INFO("optimised " << optimise << ", channels " << channels << ", 4:2:0 " << subsample);
        JpegOptions options;
        options.optimise = optimise;
        options.subsample = subsample;
        const std::vector<std::byte> file = MakeJpeg(MakePicture(801, 603, channels), options);
        REQUIRE(baseline::OwnTables::Pay(file.size() - 1000));  // without its header
        const Region whole = Region::Whole(801, 603);
        finished = {};
        REQUIRE(serial.Decode(file, 801, 603, whole));
        REQUIRE(split.Decode(file, 801, 603, whole));
        CHECK(AllSamples(split) == AllSamples(serial));
        CHECK(finished.waited > finished.mcus / 2);
      }
    }
  }
}
