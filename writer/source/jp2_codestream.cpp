#include "writer/source/jp2_codestream.h"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <sluice/error.h>

#include "writer/source/file_boxes.h"

namespace sluice::jp2 {

namespace {

constexpr std::uint64_t kMostLayers = 1024;
constexpr std::uint32_t kMostLevels = 32;
// More are refused, whatever the options.
constexpr std::uint64_t kMostPixels = std::uint64_t{1} << 28;

enum Marker : std::uint32_t {
  kSoc = 0xFF4F,
  kSiz = 0xFF51,
  kCod = 0xFF52,
  kCoc = 0xFF53,
  kSot = 0xFF90,
  kSod = 0xFF93,
};

[[noreturn]] void Refuse(std::uint64_t count, const char* what) {
  throw Error(ErrorCode::kUnsupported, "unsupported JPEG 2000: it has " + std::to_string(count) +
                                           " " + what + ", more than pictures of its size have");
}

std::uint64_t Parts(std::uint64_t whole, std::uint64_t part) noexcept {
  return (whole + part - 1) / part;
}

// The codestream in the boxes of a JP2 file; empty if there is none.
Bytes CodestreamOf(Bytes file) noexcept {
  while (const std::optional<FileBox> box = TakeFileBox(file)) {
    if (box->type == "jp2c") return box->body;
  }
  return {};
}

class Codestream {
 public:
  explicit Codestream(Bytes bytes) : bytes_(bytes) {}

  Tiles Look() {
    if (!Has(2) || Next() != kSoc) return {};
    at_ = 2;
    if (!ReadHeaders(kSot) || tiles_ == 0) return {};
    std::vector<bool> seen(tiles_);
    while (Has(12) && Next() == kSot) {
      const std::size_t start = at_;
      const std::uint64_t tile = BigEndian(bytes_, start + 4, 2);
      const std::uint64_t length = BigEndian(bytes_, start + 6, 4);
      if (tile < tiles_) seen[tile] = true;
      at_ += 12;
      if (!ReadHeaders(kSod)) break;
      if (length < 12 || length > bytes_.size() - start) break;  // 0: up to the end
      at_ = start + length;
    }
    return {tiles_, static_cast<std::uint32_t>(std::count(seen.begin(), seen.end(), true))};
  }

 private:
  bool Has(std::size_t count) const noexcept { return bytes_.size() - at_ >= count; }
  std::uint64_t Next() const noexcept { return BigEndian(bytes_, at_, 2); }

  // Marker segments up to that marker. False if they end before it.
  bool ReadHeaders(Marker last) {
    while (Has(2)) {
      const std::uint64_t marker = Next();
      if (marker == last) return true;
      if (!Has(4)) return false;
      const std::size_t size = BigEndian(bytes_, at_ + 2, 2);
      if (size < 2 || !Has(2 + size)) return false;
      const Bytes body = bytes_.subspan(at_ + 4, size - 2);
      if (marker == kSiz) ReadSize(body);
      if (marker == kCod) ReadCoding(body);
      if (marker == kCoc) ReadComponentCoding(body);
      at_ += 2 + size;
    }
    return false;
  }

  void ReadSize(Bytes body) {
    if (body.size() < 36) return;
    const auto word = [&](std::size_t i) { return BigEndian(body, 2 + 4 * i, 4); };
    // The picture's end and begin on the grid, a tile's sides, and where the first tile begins.
    const std::uint64_t across = word(0), down = word(1), left = word(2), top = word(3);
    const std::uint64_t tile_across = word(4), tile_down = word(5), from_x = word(6),
                        from_y = word(7);
    if (across <= left || down <= top || tile_across == 0 || tile_down == 0 || from_x > left ||
        from_y > top) {
      return;  // openjpeg refuses them
    }
    const std::uint64_t components = BigEndian(body, 34, 2);
    if (components > kMostComponents) Refuse(components, "components");
    width_ = across - left;
    height_ = down - top;
    const std::uint64_t tiles =
        Parts(across - from_x, tile_across) * Parts(down - from_y, tile_down);
    if (tiles > std::min<std::uint64_t>(1024 + Pixels() / 16'384, 65'535)) Refuse(tiles, "tiles");
    tiles_ = static_cast<std::uint32_t>(tiles);
  }

  void ReadCoding(Bytes body) {
    if (body.size() < 10) return;
    layers_ = BigEndian(body, 2, 2);
    if (layers_ > kMostLayers) Refuse(layers_, "layers");
    CheckBlocks((BigEndian(body, 0, 1) & 1) != 0, body.subspan(5));
  }

  void ReadComponentCoding(Bytes body) {
    if (body.size() < 7) return;  // a component's number is one byte, as there are at most five
    CheckBlocks((BigEndian(body, 1, 1) & 1) != 0, body.subspan(2));
  }

  // From the number of levels on: of one component, as if the picture were one tile.
  void CheckBlocks(bool own_precincts, Bytes body) const {
    const auto levels = static_cast<std::uint32_t>(BigEndian(body, 0, 1));
    if (levels > kMostLevels || Pixels() == kMostPixels) return;  // refused for its size
    const std::uint64_t across = BigEndian(body, 1, 1) % 16 + 2;
    const std::uint64_t down = BigEndian(body, 2, 1) % 16 + 2;
    std::uint64_t precincts = 0;
    std::uint64_t blocks = 0;
    for (std::uint32_t level = 0; level <= levels; ++level) {
      std::uint64_t precinct_across = 15, precinct_down = 15;
      if (own_precincts) {
        if (body.size() < 6 + level) return;
        const std::uint64_t sides = BigEndian(body, 5 + level, 1);
        precinct_across = sides & 15;
        precinct_down = sides >> 4;
      }
      const std::uint64_t width = Parts(width_, std::uint64_t{1} << (levels - level));
      const std::uint64_t height = Parts(height_, std::uint64_t{1} << (levels - level));
      precincts += Parts(width, std::uint64_t{1} << precinct_across) *
                   Parts(height, std::uint64_t{1} << precinct_down);
      // A block lies within its precinct, which a level above the first has half as large in a
      // band.
      const std::uint64_t half = level > 0 ? 1 : 0;
      const std::uint64_t inner_across = precinct_across - std::min(precinct_across, half);
      const std::uint64_t inner_down = precinct_down - std::min(precinct_down, half);
      blocks += Parts(width, std::uint64_t{1} << std::min(across, inner_across)) *
                Parts(height, std::uint64_t{1} << std::min(down, inner_down));
    }
    const std::uint64_t most_precincts = 4096 + Pixels() / 1024;
    if (precincts > most_precincts) Refuse(precincts, "precincts");
    if (blocks > 4096 + Pixels() / 128) Refuse(blocks, "code blocks");
    if (precincts * std::max<std::uint64_t>(layers_, 1) > 64 * most_precincts) {
      Refuse(precincts * layers_, "packets");
    }
  }

  std::uint64_t Pixels() const noexcept {
    return std::min(kMostPixels, width_ > kMostPixels ? kMostPixels : width_ * height_);
  }

  Bytes bytes_;
  std::size_t at_ = 0;
  std::uint64_t width_ = 0;
  std::uint64_t height_ = 0;
  std::uint64_t layers_ = 0;
  std::uint32_t tiles_ = 0;
};

}  // namespace

std::uint32_t PaletteColours(Bytes file) noexcept {
  while (std::optional<FileBox> box = TakeFileBox(file)) {
    if (box->type != "jp2h") continue;
    for (Bytes header = box->body; (box = TakeFileBox(header));) {
      if (box->type == "pclr" && box->body.size() >= 3)
        return static_cast<std::uint32_t>(BigEndian(box->body, 2, 1));
    }
    return 0;
  }
  return 0;
}

Tiles LookAtCodestream(Bytes file) {
  const bool bare = file.size() >= 2 && BigEndian(file, 0, 2) == kSoc;
  return Codestream(bare ? file : CodestreamOf(file)).Look();
}

}  // namespace sluice::jp2
