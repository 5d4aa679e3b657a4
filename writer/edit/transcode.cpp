// `sluice transcode`: the same samples with their images in another form.
//
// Each worker has a Transcoder, which converts single images. Between JPEG and packed, coefficients
// are only arranged differently. To make pixels of either, the readers' decoder is used. JPEGs made
// of pixels are encoded. Results are consumed in order, so the shards do not depend on the number
// of threads.
#include <algorithm>
#include <atomic>
#include <new>

#include <sluice/convert_option_list.h>
#include <sluice/cpu.h>
#include <sluice/dataset_edit.h>
#include <sluice/error.h>

#include "format/disk/checksum.h"
#include "format/disk/limits.h"
#include "format/disk/shard_build.h"
#include "format/pixels/decode.h"
#include "format/pixels/tiled/tiled.h"
#include "writer/convert/options.h"
#include "writer/convert/ordered_pipeline.h"
#include "writer/edit/dataset_build.h"
#include "writer/encode/jpeg.h"
#include "writer/shard_writer.h"

namespace sluice {

namespace {

constexpr std::uint64_t kProbes = 64;  // samples transcoded first, to choose the size of blocks

bool IsPixels(Codec codec) noexcept {
  return codec == Codec::kRaw || codec == Codec::kZstd;
}

// Converts single images to the wanted form. Each worker thread has one.
class Transcoder {
 public:
  explicit Transcoder(const TranscodeOptions& options) : options_(options) {
    jpeg_.form.quality = options.quality;
    jpeg_.form.restart_markers = options.restart_markers;
    jpeg_.form.subsampling = options.subsampling;
  }

  // Returns false and leaves the value unchanged if the form cannot store the image. Throws Error
  // for a broken payload.
  bool ToForm(FieldValue& value) {
    if (IsWide(value.pixel_type, value.channels) && options_.image != ImageCodec::kRaw)
      return ToTiles(value);
    switch (options_.image) {
      case ImageCodec::kRaw: return ToPixels(value);
      case ImageCodec::kJpeg: return ToJpeg(value);
      case ImageCodec::kPacked: break;
    }
    if (value.codec == Codec::kPacked) return true;
    FieldValue jpeg = value;
    if (!ToJpeg(jpeg) || !PackJpeg(jpeg, blocks_)) return false;
    value = std::move(jpeg);
    return true;
  }

 private:
  static ImagePayload PayloadOf(const FieldValue& value) {
    return {value.codec, value.pixel_type, value.channels, value.width, value.height, value.bytes};
  }

  Picture Pixels(const FieldValue& value) {
    if (std::uint64_t{value.width} * value.height > options_.max_pixels) {
      throw Error(ErrorCode::kLimit,
                  "the image has more pixels than max_pixels (--max-pixels) allows");
    }
    Picture picture{value.width, value.height, value.channels, {}};
    picture.pixels.resize(std::size_t{value.width} * value.height * value.channels *
                          SizeOf(value.pixel_type));
    const Defect defect =
        decoder_.Decode(PayloadOf(value), Region::Whole(value.width, value.height),
                        {picture.pixels.data(), value.channels, PixelOrder::kInterleaved});
    if (defect != nullptr) throw Error(ErrorCode::kCorrupt, defect);
    return picture;
  }

  bool ToPixels(FieldValue& value) {
    const std::uint64_t size =
        std::uint64_t{value.width} * value.height * value.channels * SizeOf(value.pixel_type);
    if (value.codec == Codec::kRaw) return true;
    const bool known = value.codec == Codec::kJpeg || value.codec == Codec::kPacked ||
                       value.codec == Codec::kZstd || value.codec == Codec::kTiled;
    if (!known || size > kMaxPayloadBytes) return false;
    const Picture picture = Pixels(value);
    value.SetBytes(std::as_bytes(std::span(picture.pixels)));
    value.codec = Codec::kRaw;
    return true;
  }

  // Wide images have one form without loss, whatever the form for pictures.
  bool ToTiles(FieldValue& value) {
    if (value.codec == Codec::kTiled) return true;
    if (!IsPixels(value.codec)) return false;
    const Picture picture = Pixels(value);
    ImagePayload pixels = PayloadOf(value);
    pixels.bytes = std::as_bytes(std::span(picture.pixels));
    value.bytes = tiled::Encode(pixels);
    value.codec = Codec::kTiled;
    return true;
  }

  bool ToJpeg(FieldValue& value) {
    if (value.codec == Codec::kJpeg) return true;
    if (value.codec == Codec::kPacked) {
      value.bytes = JpegFileOf(PayloadOf(value));
    } else {
      const bool colours = value.channels == 1 || value.channels == 3;
      if (!IsPixels(value.codec) || !colours || value.pixel_type != PixelType::kUint8 ||
          std::max(value.width, value.height) > kMaxJpegSide) {
        return false;
      }
      value.bytes = EncodeJpeg(Pixels(value), jpeg_);
    }
    value.codec = Codec::kJpeg;
    return true;
  }

  const TranscodeOptions& options_;
  ConvertOptions jpeg_;
  PayloadDecoder decoder_;
  baseline::BlockReader blocks_{kernels::Chosen()};
};

class Transcoding {
 public:
  Transcoding(const StoredDataset& stored, const TranscodeOptions& options, const EditHooks& hooks)
      : stored_(stored), options_(options), hooks_(hooks) {
    const VisibleRows rows(stored);
    for (unsigned t = 0; t < (options.threads != 0 ? options.threads : AvailableCpus()); ++t) {
      transcoders_.emplace_back(options);
      rows_.push_back(rows);
    }
  }

  TranscodeSummary Run(const std::filesystem::path& out) {
    const Manifest& manifest = stored_.manifest;
    const std::uint32_t block_samples = ChooseBlockSamples();
    images_ = left_ = 0;  // the probes are transcoded again, and counted then
    DatasetBuild build(out, manifest.name, schema_, samples_.size(), hooks_);
    build.Keep(manifest);
    // The values of these options are part of the shards' ids, so enumerators must keep their
    // values.
    std::string form = "transcode";
    for (const int option :
         {static_cast<int>(options_.image), options_.quality,
          static_cast<int>(options_.restart_markers), static_cast<int>(options_.subsampling)}) {
      form += " " + std::to_string(option);
    }
    const Id128 identity = Hash128({std::as_bytes(std::span(stored_.id.bytes)), AsBytes(form)});
    std::uint64_t first = 0;
    for (std::size_t s = 0; s < manifest.shards.size(); ++s) {
      const ShardFile shard = stored_.Open(s);
      std::vector<KeyChunk> keys(transcoders_.size());
      const std::uint64_t begin = samples_.CountBefore(first);
      const std::uint64_t end = samples_.CountBefore(first + shard.samples());
      const auto change = [&](unsigned worker, std::uint64_t i) {
        const std::uint64_t sample = samples_[begin + i];
        return Transcoded(shard, sample, sample - first, worker, keys[worker]);
      };
      const auto add = [&](std::uint64_t, Outcome&& outcome) {
        build.Fill(identity, block_samples, std::move(outcome.sample));
      };
      try {
        RunInOrder(static_cast<unsigned>(transcoders_.size()), end - begin, hooks_.stop, change,
                   add);
      } catch (const Error& error) {
        // After a stop request, Skip() throws the Error that names the new folder.
        if (error.code() == ErrorCode::kState) build.Skip(0);
        throw;
      }
      first += shard.samples();
    }
    TranscodeSummary summary;
    summary.made = build.Finish(MadeByEdit("transcode", {stored_.id}, Options()));
    summary.images = images_;
    summary.left_as_they_were = left_;
    return summary;
  }

 private:
  // The conversion's options, with the new form. JPEGs keep the quality they were made with; only
  // pixels are encoded here.
  nlohmann::json Options() const {
    const nlohmann::json made = OptionsOfMade(stored_.manifest.made);
    if (made.is_null()) return made;
    ConvertOptions options = OptionsFromJson(made);
    if (options.form.image == ImageCodec::kRaw) {
      options.form.quality = options_.quality;
      options.form.restart_markers = options_.restart_markers;
      options.form.subsampling = options_.subsampling;
    }
    options.form.image = options_.image;
    options.form.keep = options.form.keep && options.form.image != ImageCodec::kRaw;
    return OptionsToJson(options);
  }

  Outcome Transcoded(const ShardFile& shard, std::uint64_t sample, std::uint64_t index,
                     unsigned worker, KeyChunk& keys) {
    Outcome outcome;
    outcome.sample = rows_[worker].Values(sample);
    outcome.sample.key = KeyOf(shard, index, keys);
    try {
      ChangeImages(schema_, outcome.sample, transcoders_[worker]);
      CheckLimits(outcome.sample, schema_, layout_, header_bytes_);
    } catch (const std::bad_alloc&) {
      throw Error(ErrorCode::kMemory, shard.name(),
                  shard.Place(index) + " (" + outcome.sample.key + ")",
                  "there is not enough memory to transcode it; take fewer --threads, or raise "
                  "`ulimit -v`");
    } catch (const Error& error) {
      const char* const advice = error.code() == ErrorCode::kCorrupt
                                     ? "; `sluice verify --decode` lists such samples, and `sluice "
                                       "subset` can leave them out"
                                     : "";
      throw Error(error.code(), shard.name(), shard.Place(index) + " (" + outcome.sample.key + ")",
                  error.sentence() + advice);
    }
    return outcome;
  }

  void ChangeImages(const Schema& schema, EncodedSample& sample, Transcoder& transcoder) {
    for (std::size_t f = 0; f < schema.fields.size(); ++f) {
      FieldValue& value = sample.fields[f];
      const Field& field = schema.fields[f];
      if (field.kind != FieldKind::kImage || field.role == Role::kMask ||
          value.codec == Codec::kAbsent) {
        continue;
      }
      ++images_;
      if (!transcoder.ToForm(value)) ++left_;
    }
  }

  std::uint32_t ChooseBlockSamples() {
    const std::uint64_t samples = samples_.size();
    const std::uint64_t probes = std::min(samples, kProbes);
    std::uint64_t bytes = 0;
    ForEachSample(
        stored_, probes, [&](std::uint64_t probe) { return samples_[probe * samples / probes]; },
        [&](const ShardFile& shard, std::uint64_t index, KeyChunk& keys, std::uint64_t probe) {
          const std::uint64_t sample = samples_[probe * samples / probes];
          const Outcome outcome = Transcoded(shard, sample, index, 0, keys);
          bytes += BlockBytesOf(outcome.sample, schema_, layout_);
        });
    return AutomaticBlockSamples(probes == 0 ? 1 : std::max<std::uint64_t>(1, bytes / probes));
  }

  const StoredDataset& stored_;
  const TranscodeOptions& options_;
  const EditHooks& hooks_;
  // Columns become fields of the new shards, and deleted samples are left out.
  const Schema schema_ = VisibleFields::Of(stored_.manifest).schema;
  const RecordLayout layout_{schema_};
  const LivingSamples samples_{stored_.manifest};
  const std::uint64_t header_bytes_ = BuildShardHeader(schema_, {}, 1).size();
  std::vector<Transcoder> transcoders_;
  std::vector<VisibleRows> rows_;  // by worker
  // As TranscodeSummary::images and left_as_they_were.
  std::atomic<std::uint64_t> images_ = 0, left_ = 0;
};

}  // namespace

TranscodeSummary TranscodeDataset(const std::filesystem::path& dataset,
                                  const std::filesystem::path& out, const TranscodeOptions& options,
                                  const EditHooks& hooks) {
  const std::string wrong = option_list::WhatIsOutOfRange(options);
  if (!wrong.empty()) throw Error(ErrorCode::kInvalidArgument, "TranscodeOptions::" + wrong);
  const StoredDataset stored(dataset, hooks.stop);
  RequireAllShards(stored, hooks.stop);
  return Transcoding(stored, options, hooks).Run(out);
}

}  // namespace sluice
