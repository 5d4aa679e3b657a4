// One region of one picture, taken apart for a device to decode (jpeg_job.h). A parcel has the
// lines that the region needs (lines of MCUs of a JPEG, or lines of blocks of a packed picture),
// the quantisation tables, and the rules by which the device computes its resampling weights
// (JpegAxis). The same code as in the host's decoders (format/pixels/baseline and packed) decides
// which part to decode and at which size, so the pixels are the same.
//
// A parcel takes the forms that our writer stores: packed; and baseline, with a restart marker at
// each line of MCUs, or at each of a line's equal parts, and the standard's Huffman tables.
// Anything else is left to the host, which also decides what is broken. If a picture already lies
// in memory that the device reads (StoredPicture), the parcel does not read its bytes. Only such a
// picture may also be raw.
#pragma once

#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "format/disk/block.h"
#include "format/pixels/axis.h"
#include "format/pixels/baseline/header.h"
#include "format/pixels/baseline/scan_decoder.h"
#include "format/pixels/decode.h"
#include "format/pixels/packed/decoder.h"
#include "format/pixels/packed/layout.h"
#include "reader/device/jpeg_job.h"

namespace sluice {

// The properties that pictures of one form share, whatever their size: the parts that restart
// markers cut a line of MCUs into (packed: 1), and for each component the sampling factors, which
// of the standard's Huffman tables it uses, and the quantisation in natural order.
struct JpegForm {
  std::uint16_t parts = 1;
  std::uint16_t packed = 0;     // 1 for a packed picture, which has no Huffman tables
  std::uint8_t components = 0;  // 1 or 3
  std::uint8_t h[3] = {}, v[3] = {}, table[3] = {};
  std::int16_t quant[3][64] = {};
};
static_assert(std::has_unique_object_representations_v<JpegForm>, "compared as bytes");

// Appends bytes and fills up the last word with zeros. Returns the number of the first word.
std::uint32_t AppendTo(std::vector<std::uint32_t>& words, const void* bytes, std::size_t count);

// The most lines (CodedLine) of a picture that a device takes: a packed picture has a line of
// blocks for every 8 lines of each of its components, and a JPEG has at most three parts for every
// 8 lines, or more if these have 128 bytes each in the mean. A picture with more is left to the
// host.
std::uint64_t MostCodedLines(std::uint64_t height, std::uint64_t payload_bytes) noexcept;

// The lines of a picture that a region needs: [begin, end), and of each its parts [first, last).
struct NeededLines {
  std::uint32_t begin = 0, end = 0;
  std::uint32_t first = 0, last = 1, parts = 1;
};

// A whole JPEG or packed picture, taken apart for a device: its form, which decides how its lines
// are decoded, and its lines. Only forms that a device decodes are accepted; the head of this file
// names them.
class JpegParts {
 public:
  // Returns false if the payload does not have a form that a device decodes. The payload must
  // outlive the calls of AppendLines().
  bool Parse(const ImagePayload& payload);
  const JpegForm& form() const noexcept { return form_; }
  // The header of a JPEG, or that of a packed picture. Only the one that fits the picture is set.
  const baseline::Header& header() const noexcept { return header_; }
  const packed::Header& packed_header() const noexcept { return packed_; }
  // All lines: of MCUs or, for a packed picture, of blocks (counted for each component).
  NeededLines AllLines() const noexcept {
    return {0, form_.packed != 0 ? packed_.lines() : header_.mcus_down, 0, form_.parts,
            form_.parts};
  }
  // Appends lines to `words`, each part padded to whole words and without a JPEG's stuffed zeros.
  // CodedLine::at is the index of the part's first word in `words`. Returns false if the picture
  // lacks any of them.
  bool AppendLines(const NeededLines& needed, std::vector<std::uint32_t>& words,
                   std::vector<CodedLine>& lines);

 private:
  bool ParseJpeg(const ImagePayload& payload);
  bool ParsePacked(const ImagePayload& payload);

  baseline::Header header_;
  packed::Header packed_;
  Bytes payload_;
  JpegForm form_;
  std::vector<std::uint8_t> segment_;
};

// The standard's tables, as every job needs them.
JpegTables StandardJpegTables();

// A picture in memory that the device reads. `at` points to the lines that JpegParts made, or to
// raw pixels, and is word-aligned.
struct StoredPicture {
  const std::byte* at = nullptr;
  const JpegForm* form = nullptr;             // null: raw
  const std::uint32_t* line_bytes = nullptr;  // how many bytes each part of a line has
};

// Keeps its memory from picture to picture; one thread at a time.
class JpegParcel {
 public:
  // Returns false if the host must decode the region. `channels` are those of the image.
  bool Make(const ImagePayload& payload, const Region& region, std::uint32_t channels);
  // Does the same for a picture that lies where the device reads it. The bytes of `payload` are not
  // read.
  bool Make(const StoredPicture& stored, const ImagePayload& payload, const Region& region,
            std::uint32_t channels);

  // The results of the last Make(). JpegComponent::quant is an index of words(). So is
  // CodedLine::at, unless the picture is stored: then it is an index of the stored words.
  // CodedLine::picture is 0.
  const JpegPicture& picture() const noexcept { return picture_; }
  std::span<const CodedLine> lines() const noexcept { return lines_; }
  std::span<const std::uint32_t> words() const noexcept { return words_; }
  // The device's scratch memory that the picture needs, in units of 16 bytes.
  std::uint64_t scratch() const noexcept { return scratch_; }

  // Copies the picture and its lines into a job. There the picture has the number `number`, and
  // words() begin at index `at` of the job's words.
  void CopyToJob(std::uint32_t number, std::uint32_t at, JpegPicture& picture,
                 std::span<CodedLine> lines) const noexcept;

 private:
  void Clear();
  std::uint32_t Append(const void* bytes, std::size_t count);
  bool PlaceWindow(const baseline::Header& header, const JpegForm& form, const Region& region,
                   std::uint32_t channels);
  void AddComponent(const JpegForm& form, std::size_t number, const baseline::ComponentWindow& part,
                    bool weighted, bool mirrored);
  void AddPlane(std::size_t number, std::uint64_t samples);
  void AddAxes(std::size_t number, const ComponentAxis& x, std::uint32_t left,
               const ComponentAxis& y, std::uint32_t top, bool mirrored);
  JpegAxis AddAxis(const ComponentAxis& axis, std::uint32_t first, bool mirrored);
  bool MakeRaw(const ImagePayload& payload, const Region& region);
  NeededLines PartsInWindow() const noexcept;
  void AddStoredLines(const StoredPicture& stored, const NeededLines& needed);
  // For packed pictures:
  bool MakePacked(const StoredPicture* stored, const packed::Header& header, const JpegForm& form,
                  const Region& region, std::uint32_t channels);
  void AddBlocks(const JpegForm& form, std::size_t number, const packed::BlockWindow& window,
                 std::uint32_t line_blocks, bool mirrored);

  JpegParts parts_;
  // The headers of a stored picture, of which only the sizes are set.
  packed::Header stored_packed_;
  baseline::Header stored_;
  ComponentAxis x_[3], y_[3];
  JpegPicture picture_;
  std::vector<CodedLine> lines_;
  std::vector<std::uint32_t> words_;
  std::uint64_t scratch_ = 0;
};

}  // namespace sluice
