// The decoder of baseline JPEGs against libjpeg-turbo, every set of kernels against the others, and
// a part of a picture against the whole. The input is a JPEG file; everything else follows from it.
//
// Promises:
//   - Every set of kernels takes or refuses the same files and regions and gives the same samples.
//     It makes no difference whether scratch memory was used before, or whether restart intervals
//     are decoded side by side or one after another.
//   - If the decoder takes a whole file, libjpeg takes it without making anything up, and also as
//     Y Cb Cr or grey. Both give the same samples, except in blocks whose coefficients no picture
//     has: see SamplesAreDefined().
//   - A region of such a file is taken too, and has the samples of the whole picture at that size.
//   - The promises of rewriting and recoding are in rewrite_target.cpp and recode_target.cpp.
//   - A device's functions find the same files broken and give the same samples, if they take the
//     file at all.
#include <array>
#include <cstdio>

#include "format/disk/checksum.h"
#include "format/pixels/baseline/scan_decoder.h"
#include "tests/fuzz/jpeg_content.h"
#include "tests/fuzz/jpeg_mutate.h"
#include "tests/fuzz/jpeg_on_device.h"
#include "tests/fuzz/jpeg_reference.h"
#include "tests/fuzz/targets.h"
#include "tests/pictures.h"
#include "tests/pixels/kernel_sets.h"

namespace sluice::fuzz {

namespace {

constexpr std::uint64_t kMaxJpegPixels = 1 << 21;  // more pixels only take longer

struct Plane {
  std::uint32_t left = 0, right = 0, top = 0, bottom = 0;
  std::vector<std::uint8_t> samples;  // column by column
  friend bool operator==(const Plane&, const Plane&) = default;
  std::uint8_t At(std::uint32_t x, std::uint32_t y) const {
    return samples[std::size_t{x - left} * (bottom - top) + (y - top)];
  }
};

// The result of a decoding: no planes if the file was refused.
using Planes = std::vector<Plane>;

struct Picture {
  Bytes file;
  std::uint32_t width = 0, height = 0;
};

Planes DecodeBy(baseline::Decoder& decoder, const Picture& picture, const Region& region) {
  Planes planes;
  if (!decoder.Decode(picture.file, picture.width, picture.height, region)) return planes;
  for (std::uint32_t c = 0; c < decoder.components(); ++c) {
    const ColumnPlane& from = decoder.planes()[c];
    Plane& to = planes.emplace_back();
    to.left = from.x.first;
    to.right = from.x.last;
    to.top = from.y.first;
    to.bottom = from.y.last;
    for (std::uint32_t x = to.left; x < to.right; ++x) {
      const std::uint8_t* const column =
          from.data + std::size_t{x - from.left} * from.stride + (to.top - from.top);
      to.samples.insert(to.samples.end(), column, column + (to.bottom - to.top));
    }
  }
  return planes;
}

void CompareWithDevice(const Picture& picture, const Region& region, const Planes& planes) {
  const auto there = DecodeOnDevice(
      {Codec::kJpeg, PixelType::kUint8, 3, picture.width, picture.height, picture.file}, region);
  if (!there) return;
  Promise(there->size() == planes.size(), "a device finds the same files broken");
  for (std::size_t c = 0; c < planes.size(); ++c) {
    const Plane& plane = planes[c];
    for (std::uint32_t x = plane.left; x < plane.right; ++x) {
      for (std::uint32_t y = plane.top; y < plane.bottom; ++y)
        Promise((*there)[c].At(x, y) == plane.At(x, y), "a device gives the same samples");
    }
  }
}

// Decodes with every set of DecodingSets() and on a device. All must agree.
Planes Decode(const Picture& picture, const Region& region) {
  static thread_local std::vector<baseline::Decoder> used = [] {
    std::vector<baseline::Decoder> decoders;
    for (const kernels::Kernels* set : test::DecodingSets())
      decoders.emplace_back(*set);
    return decoders;
  }();
  Planes planes = DecodeBy(used[0], picture, region);
  for (std::size_t i = 1; i < used.size(); ++i) {
    const Planes other = DecodeBy(used[i], picture, region);
    Promise(other.empty() == planes.empty(), "every set of kernels takes the same files");
    Promise(other == planes, "every set of kernels gives the same samples");
  }
  CompareWithDevice(picture, region, planes);
  return planes;
}

// The offset of the marker after the first scan. If there is none, the file's size.
std::size_t ScanEnd(Bytes file) {
  baseline::Header header;
  Promise(baseline::ParseHeader(file, header), "a header that was read can be read again");
  for (std::size_t at = file.size() - header.scan.size(); at + 1 < file.size(); ++at) {
    if (file[at] != std::byte{0xFF}) continue;
    const auto next = std::to_integer<int>(file[at + 1]);
    if (next != 0 && next != 0xFF && (next < 0xD0 || next > 0xD7)) return at;
  }
  return file.size();
}

// The file without anything after its first scan. Our decoder takes samples from this part only, so
// libjpeg's coefficients must come from it, too.
Input UpToScanEnd(Bytes file) {
  const Bytes kept = file.first(ScanEnd(file));
  Input cut(kept.begin(), kept.end());
  cut.insert(cut.end(), {std::byte{0xFF}, std::byte{0xD9}});
  return cut;
}

// Decodes with libjpeg. It reads ahead, so it considers a file that ends right after its last block
// truncated; our decoder needs no more bytes there.
Reference DecodeReference(Bytes file) {
  return DecodeByLibjpeg(ScanEnd(file) == file.size() ? Bytes(UpToScanEnd(file)) : file);
}

// Decides which blocks may differ. Reads the file's coefficients when the first difference is
// found.
class Judge {
 public:
  explicit Judge(Bytes file) : file_(file) {}
  // Whether a block may differ because its samples are not defined.
  bool MayDiffer(std::size_t component, std::uint32_t x, std::uint32_t y) {
    if (content_.components.empty()) {
      Promise(ReadContent(UpToScanEnd(file_), content_), "libjpeg reads what it has decoded");
    }
    JpegContent::Component& of = content_.components[component];
    return !SamplesAreDefined(of.Block(x, y), of.quant);
  }

 private:
  Bytes file_;
  JpegContent content_;
};

void CompareBlock(Judge& judge, std::size_t component, const Plane& plane,
                  const ReferencePlane& reference, std::uint32_t x, std::uint32_t y) {
  for (std::uint32_t row = 8 * y; row < std::min(8 * y + 8, reference.height); ++row) {
    for (std::uint32_t column = 8 * x; column < std::min(8 * x + 8, reference.width); ++column) {
      const std::uint8_t expected = reference.samples[row * reference.stride + column];
      if (plane.At(column, row) == expected) continue;
      if (judge.MayDiffer(component, x, y)) return;
      std::fprintf(stderr, "component %zu at (%u, %u): %d, not %d\n", component, column, row,
                   plane.At(column, row), expected);
      Promise(false, "the samples are libjpeg's");
    }
  }
}

void CompareWithLibjpeg(const Picture& picture, const Planes& planes) {
  const Reference reference = DecodeReference(picture.file);
  if (!reference.taken) std::fprintf(stderr, "libjpeg: %s\n", reference.why.c_str());
  Promise(reference.taken, "what the decoder takes is sound to libjpeg");
  Promise(reference.ycc_or_grey, "what the decoder takes is Y Cb Cr or grey to libjpeg");
  Promise(reference.planes.size() == planes.size(), "there are as many components as in libjpeg");
  Judge judge(picture.file);
  for (std::size_t c = 0; c < planes.size(); ++c) {
    const ReferencePlane& expected = reference.planes[c];
    const Plane& plane = planes[c];
    Promise(plane.left == 0 && plane.top == 0 && plane.right == expected.width &&
                plane.bottom == expected.height,
            "a component is as large as in libjpeg");
    for (std::uint32_t y = 0; 8 * y < expected.height; ++y) {
      for (std::uint32_t x = 0; 8 * x < expected.width; ++x)
        CompareBlock(judge, c, plane, expected, x, y);
    }
  }
}

// A part of an axis, at least 2^log2 long, for an output that is 2^log2 times smaller.
Span Shrunk(std::uint32_t bound, std::uint32_t bound_length, double start, double length,
            std::uint32_t log2) {
  const auto out = static_cast<std::uint32_t>(length) >> log2;
  return {start, length, bound, bound_length, out, 0, out};
}

// A random part of an axis, at least 2^log2 long.
Span AnySpan(std::uint32_t size, std::uint32_t log2, RandomStream& random) {
  const std::uint32_t least = 1U << log2;
  const auto bound = static_cast<std::uint32_t>(random.Below(size - least + 1));
  const auto bound_length =
      static_cast<std::uint32_t>(least + random.Below(size - bound - least + 1));
  if (random.Below(2) == 0) return Shrunk(bound, bound_length, bound, bound_length, log2);
  const double start = bound + random.Uniform() * (bound_length - least);
  const double length = least + random.Uniform() * (bound + bound_length - start - least);
  return Shrunk(bound, bound_length, start, length, log2);
}

void PromisePart(const Planes& part, const Planes& whole) {
  Promise(part.size() == whole.size(), "a part of a picture that is taken is taken too");
  for (std::size_t c = 0; c < part.size(); ++c) {
    const Plane& inner = part[c];
    Promise(inner.left >= whole[c].left && inner.right <= whole[c].right &&
                inner.top >= whole[c].top && inner.bottom <= whole[c].bottom,
            "a part lies inside the whole");
    for (std::uint32_t x = inner.left; x < inner.right; ++x) {
      for (std::uint32_t y = inner.top; y < inner.bottom; ++y)
        Promise(inner.At(x, y) == whole[c].At(x, y), "a part has the samples of the whole");
    }
  }
}

void CompareParts(const Picture& picture, const Planes& whole) {
  RandomStream random(Hash64(picture.file), static_cast<Purpose>(0xF23), 0);
  std::array<Planes, 4> smaller;  // the whole picture, by log2 of its reduction
  smaller[0] = whole;
  for (int i = 0; i < 3; ++i) {
    auto log2 = static_cast<std::uint32_t>(random.Below(8));
    if (log2 > 3 || std::min(picture.width, picture.height) >> log2 == 0) log2 = 0;
    Region region;
    region.x = AnySpan(picture.width, log2, random);
    region.y = AnySpan(picture.height, log2, random);
    const Planes part = Decode(picture, region);
    if (whole.empty()) continue;
    if (smaller[log2].empty()) {
      smaller[log2] = Decode(picture, {Shrunk(0, picture.width, 0, picture.width, log2),
                                       Shrunk(0, picture.height, 0, picture.height, log2), false});
    }
    PromisePart(part, smaller[log2]);
  }
}

}  // namespace

bool CompareJpeg(Bytes input) {
  const std::vector<std::byte> own(input.begin(), input.end());  // exact size, for ASan
  baseline::Header header;
  if (!baseline::ParseHeader(own, header) ||
      std::uint64_t{header.width} * header.height > kMaxJpegPixels) {
    return false;
  }
  const Picture picture{own, header.width, header.height};
  const Region all = Region::Whole(picture.width, picture.height);
  const Planes whole = Decode(picture, all);
  baseline::Decoder fresh(kernels::Chosen());
  Promise(DecodeBy(fresh, picture, all) == whole, "decoding again gives the same");
  if (!whole.empty()) CompareWithLibjpeg(picture, whole);
  CompareParts(picture, whole);
  CompareRewriting(own);
  CompareRecoding(own, UpToScanEnd(own));
  return !whole.empty();
}

void RunJpeg(Bytes input) {
  CompareJpeg(input);
}

std::vector<Input> JpegSeeds() {
  std::vector<Input> seeds;
  using test::JpegOptions;
  const auto add = [&seeds](std::uint32_t width, std::uint32_t height, std::uint32_t channels,
                            const JpegOptions& options) {
    seeds.push_back(MakeJpeg(test::MakePicture(width, height, channels), options));
  };
  // 4:2:0, 4:2:2, 4:4:0 and 4:4:4, with restart markers and without.
  for (const auto& [h, v] : {std::pair{2, 2}, {2, 1}, {1, 2}, {1, 1}}) {
    for (const unsigned restart : {0U, 1U, 3U}) {
      add(35, 29, 3,
          {.quality = 80,
           .restart_interval = restart,
           .luma_h = h,
           .luma_v = v,
           .optimise = restart == 3});
    }
  }
  // The standard's Huffman tables and several restart intervals, which are decoded at the same
  // time.
  for (const std::uint32_t rows : {2U, 3U, 5U})
    add(40, rows * 16, 3, {.quality = 90, .restart_rows = 1});
  for (const int quality : {1, 10, 50, 95, 100})
    add(24, 24, 3, {.quality = quality, .optimise = quality % 2 == 0});
  for (const std::uint32_t size : {1U, 7U, 8U, 9U, 17U}) {
    add(size, 18 - size, 3, {.restart_rows = 1});
    add(18 - size, size, 1, {.quality = 75});
  }
  // Coefficients and Huffman tables that no encoder would choose, including codes of 16 bits.
  RandomStream random(3, static_cast<Purpose>(0xF23), 0);
  for (int i = 0; i < 24; ++i) {
    const JpegContent content = AnyContent(random);
    JpegCoding coding = AnyCoding(random);
    if (i % 2 == 0) coding.tables = TableKind::kAny;
    seeds.push_back(WriteContent(content, coding));
  }
  return seeds;
}

}  // namespace sluice::fuzz
