// One source file to one stored sample: read, decode, fit, encode.
#pragma once

#include <filesystem>

#include <sluice/convert.h>

#include "format/disk/block.h"
#include "writer/fit/jpeg_fitter.h"
#include "writer/source/scan.h"

namespace sluice {

// The schema of a converted folder: an image, and a label where there are classes.
Schema ConvertedSchema(const SourceList& sources);

struct Outcome {
  EncodedSample sample;  // if there is no reason
  std::string reason;    // why the source was left out; ASCII, at most kMaxReasonBytes
  bool kept = false;     // its JPEG coefficients were kept
};

inline constexpr std::size_t kMaxReasonBytes = 240;

// Keeps its buffers from source to source. Each worker thread owns one.
class SampleEncoder {
 public:
  // Everything given outlives the encoder. `header_bytes`: of the shards' headers, `reserve_bytes`:
  // of what else a shard keeps free (see CheckLimits).
  SampleEncoder(const std::filesystem::path& folder, const ConvertOptions& options,
                const Schema& schema, std::uint64_t header_bytes, std::uint64_t reserve_bytes);

  // What is wrong with the source is the outcome's reason; other troubles (no memory) are thrown.
  Outcome Encode(const Source& source);

 private:
  void EncodeImage(const Source& source, Outcome& outcome);
  void EncodeFromJpeg(Outcome& outcome);
  void EncodeFromPng(Outcome& outcome);
  void CheckPixels(std::uint32_t width, std::uint32_t height) const;
  void Store(Picture picture, FieldValue& value) const;

  const std::filesystem::path& folder_;
  const ConvertOptions& options_;
  const Schema& schema_;
  RowLayout layout_;
  std::uint64_t header_bytes_;
  std::uint64_t reserve_bytes_;
  std::vector<std::byte> file_;
  JpegFitter jpeg_fitter_;
  Resampler resampler_;
};

}  // namespace sluice
