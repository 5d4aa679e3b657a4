// Converts one file with Convert(), and returns its sample or the reason why there is none.
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

// Converts the file together with another one, so that there is a dataset even if it is left out.
Converted ConvertOne(const FileBytes& file, const ConvertOptions& options = AsTheyAre());

// Runs Convert(), and the same in parts: both must give the same files. The sources must not change
// meanwhile. Also plays the source without a conversion, by a list and by an index: its samples
// must be those of the dataset.
ConvertSummary ConvertBothWays(const ConvertSource& source, const std::filesystem::path& dataset,
                               const ConvertOptions& options);

// The first warning that contains this text; empty if no warning does.
std::string WarningWith(const ConvertSummary& summary, const std::string& text);

// One colour laid over another, computed in real numbers: `value` and `opacity` from 0 to 1,
// `under` from 0 to 255.
std::uint8_t Over(double value, double opacity, double under = 255);

// The pixels that a file stores for an upright picture with an Exif orientation, by the standard's
// drawing.
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
