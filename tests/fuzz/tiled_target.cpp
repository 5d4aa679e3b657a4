// Tiled images, with their checksums made right, so that all other checks are tried.
//
// Promises:
//   - Every set of kernels takes or refuses the same payloads and rectangles and gives the same
//     values, whether its memory is used or fresh.
//   - A rectangle of some channels has the values that the whole image has there, if the whole
//   image
//     can be read.
#include <numeric>

#include "format/disk/checksum.h"
#include "format/pixels/tiled/form.h"
#include "format/pixels/tiled/tiled.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/targets.h"

namespace sluice::fuzz {

namespace {

// The part of an input before the payload.
struct TiledRequest {
  std::uint8_t pixel_type, channels;
  std::uint16_t width, height;
  std::uint16_t left, top, columns, rows;
  std::uint8_t wanted[4];  // channels
};
static_assert(sizeof(TiledRequest) == 18);

constexpr std::uint64_t kMaxTiledPixels = 1 << 16;  // more pixels only take longer

using TiledValues = std::vector<std::uint8_t>;

// No values if the payload or the rectangle is refused.
TiledValues ReadBy(tiled::Decoder& decoder, const ImagePayload& image, const tiled::Rect& rect,
                   std::span<const std::uint32_t> channels) {
  if (decoder.Open(image) != nullptr) return {};
  const std::size_t area = std::size_t{rect.width} * rect.height;
  TiledValues values(area * channels.size() * SizeOf(image.pixel_type));
  const tiled::ValueGrid grid{values.data(), 1, rect.width, static_cast<std::ptrdiff_t>(area)};
  return decoder.Read(rect, channels, grid) == nullptr ? values : TiledValues();
}

TiledValues ReadByAll(const ImagePayload& image, const tiled::Rect& rect,
                      std::span<const std::uint32_t> channels) {
  static thread_local std::vector<tiled::Decoder> used = [] {
    const kernels::KernelList list = kernels::Available();
    std::vector<tiled::Decoder> decoders;
    for (std::size_t i = 0; i < list.count; ++i)
      decoders.emplace_back(*list.sets[i]);
    return decoders;
  }();
  TiledValues values = ReadBy(used[0], image, rect, channels);
  for (std::size_t i = 1; i < used.size(); ++i) {
    Promise(ReadBy(used[i], image, rect, channels) == values,
            "every set of kernels gives the same values of a tiled image");
  }
  tiled::Decoder fresh(kernels::Chosen());
  Promise(ReadBy(fresh, image, rect, channels) == values, "reading again gives the same");
  return values;
}

ImagePayload ImageOf(const TiledRequest& request, Bytes payload) {
  return {Codec::kTiled,
          static_cast<PixelType>(request.pixel_type % 5),
          static_cast<std::uint8_t>(request.channels % 64 + 1),
          std::uint32_t{request.width} + 1,
          std::uint32_t{request.height} + 1,
          payload};
}

// Makes the checksums right of all tiles that lie inside the payload, and of the directory.
void ResealTiled(const ImagePayload& image, std::span<std::byte> payload) {
  using namespace tiled;
  if (payload.size() < kHeaderBytes) return;
  const auto header = LoadAt<Header>(payload, 0);
  if (header.tile_width == 0 || header.tile_height == 0) return;
  const Grid grid(image, header.tile_width, header.tile_height);
  const std::uint64_t tiles = std::uint64_t{grid.across} * grid.down * image.channels;
  const std::uint64_t directory = kHeaderBytes + std::uint64_t{header.table_bytes};
  if (directory + tiles * kEntryBytes > payload.size()) return;
  const auto first_tile = static_cast<std::size_t>(directory + tiles * kEntryBytes);
  std::size_t begin = first_tile;
  const auto sum = [&](std::size_t from, std::size_t to) {
    return static_cast<std::uint32_t>(Hash64(Bytes(payload).subspan(from, to - from)));
  };
  for (std::size_t at = directory; at < first_tile; at += kEntryBytes) {
    const std::size_t end = LoadAt<Entry>(payload, at).end;
    if (begin <= end && end <= payload.size()) StoreAt(payload, at + 4, sum(begin, end));
    begin = end;
  }
  StoreAt(payload, 0, sum(sizeof header.checksum, first_tile));
}

}  // namespace

void RunTiled(Bytes input) {
  InputReader reader(input);
  const auto request = reader.Take<TiledRequest>();
  std::vector<std::byte> own(reader.rest().begin(), reader.rest().end());  // exact size, for ASan
  const ImagePayload image = ImageOf(request, own);
  if (std::uint64_t{image.width} * image.height * image.channels > kMaxTiledPixels * 8 ||
      std::uint64_t{image.width} * image.height > kMaxTiledPixels) {
    return;
  }
  ResealTiled(image, own);
  tiled::Rect rect;
  rect.left = request.left % image.width;
  rect.top = request.top % image.height;
  rect.width = request.columns % (image.width - rect.left) + 1;
  rect.height = request.rows % (image.height - rect.top) + 1;
  std::vector<std::uint32_t> channels;
  for (std::size_t i = 0; i <= request.wanted[0] % 4U; ++i)
    channels.push_back(request.wanted[i] % image.channels);
  const TiledValues part = ReadByAll(image, rect, channels);
  std::vector<std::uint32_t> all(image.channels);
  std::iota(all.begin(), all.end(), 0U);
  const TiledValues whole = ReadByAll(image, {0, 0, image.width, image.height}, all);
  if (whole.empty()) return;
  Promise(!part.empty(), "a part of a tiled image without a fault is read");
  const std::size_t bytes = SizeOf(image.pixel_type);
  std::size_t at = 0;
  for (const std::uint32_t c : channels) {
    for (std::uint32_t y = rect.top; y < rect.top + rect.height; ++y) {
      const std::size_t from =
          ((std::size_t{c} * image.height + y) * image.width + rect.left) * bytes;
      Promise(std::memcmp(&part[at], &whole[from], rect.width * bytes) == 0,
              "a part of a tiled image has the values of the whole");
      at += rect.width * bytes;
    }
  }
}

// Often changes the header or the directory, which are a small part of the input.
void MutateTiled(Input& input, const Input& other, RandomStream& random) {
  constexpr std::size_t kBefore = sizeof(TiledRequest), kFront = 120;
  if (input.size() <= kBefore || random.Below(2) == 0) {
    Mutate(input, other, random);
    return;
  }
  const std::size_t at = kBefore + random.Below(std::min(kFront, input.size() - kBefore));
  if (random.Below(2) == 0 && at + 4 <= input.size()) {
    StoreAt(input, at, static_cast<std::uint32_t>(random.Below(2 * input.size())));
  } else {
    input[at] ^= static_cast<std::byte>(1U << random.Below(8));
  }
}

std::vector<Input> TiledSeeds() {
  std::vector<Input> seeds;
  for (std::uint8_t type = 0; type < 5; ++type) {
    for (const std::uint16_t side : {std::uint16_t{6}, std::uint16_t{32}, std::uint16_t{140}}) {
      const TiledRequest request{type,        static_cast<std::uint8_t>(side == 140 ? 1 : 4),
                                 side,        static_cast<std::uint16_t>(side / 2),
                                 3,           2,
                                 90,          50,
                                 {3, 1, 0, 1}};
      ImagePayload image = ImageOf(request, {});
      std::vector<std::byte> pixels(std::size_t{image.width} * image.height * image.channels *
                                    SizeOf(image.pixel_type));
      RandomStream random(side, static_cast<Purpose>(991), type);
      for (std::size_t i = 0; i < pixels.size(); ++i)
        pixels[i] = static_cast<std::byte>(side == 6 ? random.Word() : i / 23 % 61);
      image.codec = Codec::kRaw;
      image.bytes = pixels;
      Input seed(sizeof request);
      StoreAt(seed, 0, request);
      const std::vector<std::byte> payload = tiled::Encode(image);
      seed.insert(seed.end(), payload.begin(), payload.end());
      seeds.push_back(std::move(seed));
    }
  }
  return seeds;
}

}  // namespace sluice::fuzz
