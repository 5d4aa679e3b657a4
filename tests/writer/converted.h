// Conversions of a single file, and of a source in every way. Also helpers that compute expected
// pixels and build files from bytes.
#pragma once

#include <optional>

#include <sluice/convert.h>

#include "format/disk/bytes.h"
#include "tests/writer/source_files.h"

namespace sluice::test {

// Options for raw storage without resizing: pixels as they are decoded.
ConvertOptions AsTheyAre(unsigned channels = 3);

// A file's sample, or the reason why there is none.
struct Converted {
  Picture picture;
  std::string reason;
  ConvertSummary summary = {};
};

// Converts the file together with a valid image, so that there is a dataset even if the file is
// left out.
Converted ConvertOne(const FileBytes& file, const ConvertOptions& options = AsTheyAre());

// Converts the source at once and in parts, which must give the same files. Converts it again with
// SourceCheck::kContent, which must find no change. Then plays the source without a conversion,
// twice: the second time from the index that the first time wrote. The samples must be those of the
// dataset.
ConvertSummary ConvertBothWays(const ConvertSource& source, const std::filesystem::path& dataset,
                               const ConvertOptions& options);

// The first warning that contains this text; empty if no warning does.
std::string WarningWith(const ConvertSummary& summary, const std::string& text);

// One colour laid over another, computed in real numbers: `value` and `opacity` from 0 to 1,
// `under` from 0 to 255.
std::uint8_t Over(double value, double opacity, double under = 255);

// The pixels that a file with this Exif orientation stores for an upright picture, as the Exif
// standard draws them.
Picture Stored(const Picture& upright, int orientation);

// Collects bytes of numbers, texts and other bytes. Numbers are little-endian.
class ByteWriter {
 public:
  ByteWriter& U8(unsigned value) { return Number(value, 1); }
  ByteWriter& U16(unsigned value) { return Number(value, 2); }
  ByteWriter& U24(unsigned value) { return Number(value, 3); }
  ByteWriter& U32(std::uint32_t value) { return Number(value, 4); }
  ByteWriter& Text(std::string_view text) { return Add(AsBytes(text)); }
  ByteWriter& Add(Bytes more) {
    bytes_.insert(bytes_.end(), more.begin(), more.end());
    return *this;
  }
  ByteWriter& Values(std::initializer_list<int> values) {
    for (const int value : values)
      U8(static_cast<unsigned>(value));
    return *this;
  }
  const FileBytes& bytes() const { return bytes_; }

 private:
  ByteWriter& Number(std::uint32_t value, int count) {
    for (int i = 0; i < count; ++i)
      bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
    return *this;
  }
  FileBytes bytes_;
};

}  // namespace sluice::test
