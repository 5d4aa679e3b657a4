#include "writer/encode/coefficients.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

#include <turbojpeg.h>

#include <sluice/error.h>

#include "format/disk/bytes.h"
#include "format/disk/limits.h"
#include "format/disk/system_error.h"
#include "format/pixels/baseline/encoder.h"
#include "format/pixels/kept_memory.h"
#include "format/pixels/packed/pack.h"
#include "writer/encode/jpeg.h"
#include "writer/source/images/jpeg.h"

namespace sluice {

class JpegWriting {
 public:
  JpegWriting() {
    object.err = &trap.base;
    if (setjmp(trap.jump) != 0) trap.Throw();
    jpeg_create_compress(&object);
    jpeg_mem_dest(&object, &file_, &file_bytes_);
  }
  ~JpegWriting() {
    jpeg_destroy_compress(&object);
    std::free(file_);
  }
  JpegWriting(const JpegWriting&) = delete;
  JpegWriting& operator=(const JpegWriting&) = delete;

  // Call it after jpeg_finish_compress().
  std::vector<std::byte> File() const {
    const auto* bytes = reinterpret_cast<const std::byte*>(file_);
    return {bytes, bytes + file_bytes_};
  }

  JpegTrap trap;
  jpeg_compress_struct object{};

 private:
  unsigned char* file_ = nullptr;  // allocated by libjpeg with malloc
  unsigned long file_bytes_ = 0;
};

namespace {

bool HasUsualSampling(const jpeg_decompress_struct& header) noexcept {
  const jpeg_component_info* components = header.comp_info;
  if (header.num_components == 1) {
    return components[0].h_samp_factor == 1 && components[0].v_samp_factor == 1;
  }
  const auto usual = [](int factor) { return factor == 1 || factor == 2 || factor == 4; };
  return usual(components[0].h_samp_factor) && usual(components[0].v_samp_factor) &&
         // The standard allows no MCU of more than ten blocks.
         components[0].h_samp_factor * components[0].v_samp_factor <= 8 &&
         components[1].h_samp_factor == 1 && components[1].v_samp_factor == 1 &&
         components[2].h_samp_factor == 1 && components[2].v_samp_factor == 1;
}

bool CanBeKept(const jpeg_decompress_struct& header, unsigned channels) noexcept {
  const bool colours = header.num_components == 1
                           ? header.jpeg_color_space == JCS_GRAYSCALE
                           : header.num_components == 3 && header.jpeg_color_space == JCS_YCbCr;
  return colours && header.data_precision == 8 &&
         static_cast<unsigned>(header.num_components) == channels && HasUsualSampling(header);
}

// Baseline has 8 bits for a quantisation step.
bool HasSmallSteps(const jpeg_decompress_struct& header) noexcept {
  for (int c = 0; c < header.num_components; ++c) {
    const JQUANT_TBL* table = header.comp_info[c].quant_table;
    if (table == nullptr) return false;  // the component had no scan yet
    for (const UINT16 step : table->quantval) {
      if (step > 255) return false;
    }
  }
  return true;
}

// Whether baseline has a code for every coefficient. libjpeg's fast encoders do not check, and
// would write a file that nobody can read. The bounds are those of 8-bit samples (the difference of
// two DC values then fits as well).
bool HaveCodes(jpeg_compress_struct& out, const jpeg_decompress_struct& header,
               jvirt_barray_ptr* coefficients) {
  constexpr JCOEF kMax = 1023;
  for (int c = 0; c < header.num_components; ++c) {
    const jpeg_component_info& component = header.comp_info[c];
    const std::size_t count = std::size_t{component.width_in_blocks} * DCTSIZE2;
    for (JDIMENSION y = 0; y < component.height_in_blocks; ++y) {
      const JCOEF* const row = out.mem->access_virt_barray(reinterpret_cast<j_common_ptr>(&out),
                                                           coefficients[c], y, 1, FALSE)[0][0];
      // No branch in the loop, so that compilers make vectors of it.
      JCOEF least = 0;
      JCOEF most = 0;
      for (std::size_t i = 0; i < count; ++i) {
        least = std::min(least, row[i]);
        most = std::max(most, row[i]);
      }
      if (most > kMax || least < -kMax - 1) return false;
      // Only a DC value may be one less.
      for (std::size_t i = 0; least < -kMax && i < count; ++i) {
        if (row[i] < -kMax && i % DCTSIZE2 != 0) return false;
      }
    }
  }
  return true;
}

// False, with nothing written, if baseline cannot express the coefficients.
bool WriteCoefficients(JpegWriting& out, JpegSource& source, jvirt_barray_ptr* coefficients,
                       unsigned restart_rows) {
  if (setjmp(out.trap.jump) != 0) out.trap.Throw();
  if (!HaveCodes(out.object, source.header(), coefficients)) return false;
  jpeg_copy_critical_parameters(&source.object(), &out.object);
  out.object.optimize_coding = FALSE;
  out.object.restart_in_rows = static_cast<int>(restart_rows);
  jpeg_write_coefficients(&out.object, coefficients);
  jpeg_finish_compress(&out.object);
  return true;
}

// Rewrites a file that CanBeKept() by libjpeg, without turning it.
std::optional<KeptJpeg> RewriteByLibjpeg(const JpegFile& file, const ConvertOptions& options) {
  JpegSource source(file);
  jvirt_barray_ptr* const coefficients = source.ReadCoefficients();
  if (!HasSmallSteps(source.header())) return std::nullopt;
  KeptJpeg kept;
  try {
    JpegWriting out;
    if (!WriteCoefficients(out, source, coefficients, options.form.restart_rows))
      return std::nullopt;
    kept.file = out.File();
  } catch (const Error&) {
    // Tables that changed between scans, for example. The fault is on the writing side; the file
    // can still be decoded.
    return std::nullopt;
  }
  kept.width = source.width();
  kept.height = source.height();
  kept.channels = static_cast<std::uint8_t>(source.header().num_components);
  return kept;
}

// The header of the file to write, as libjpeg would copy it.
baseline::Header NewHeader(const baseline::Header& old, unsigned restart_rows) {
  baseline::Header header = old;
  header.restart_interval = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(std::uint64_t{restart_rows} * header.mcus_across, 65'535));
  return header;
}

// The same without libjpeg. nullopt, with nothing lost, if the file is of another kind, broken, or
// has DC coefficients that baseline has no codes for; the codes that were read have no other values
// that could not be written.
std::optional<KeptJpeg> Rewrite(Bytes file, const ConvertOptions& options,
                                baseline::BlockReader& reader) {
  constexpr std::int16_t kLeastDc = -1024, kMaxDc = 1023;
  if (!reader.Begin(file)) return std::nullopt;
  const baseline::Header header = NewHeader(reader.header(), options.form.restart_rows);
  const std::size_t values = baseline::McuRow(header).values();
  baseline::FileWriter out(kernels::Chosen(), header);
  const bool read = reader.ReadRows([&](const std::int16_t* blocks) {
    for (std::size_t at = 0; at < values; at += baseline::kCoefficients) {
      if (blocks[at] < kLeastDc || blocks[at] > kMaxDc) return false;
    }
    out.Add(blocks);
    return true;
  });
  if (!read) return std::nullopt;
  return KeptJpeg{out.Finish(), header.width, header.height,
                  static_cast<std::uint8_t>(header.components)};
}

std::optional<KeptJpeg> RewriteAny(const JpegFile& file, const ConvertOptions& options,
                                   baseline::BlockReader& reader) {
  std::optional<KeptJpeg> kept = Rewrite(file.bytes, options, reader);
  return kept ? std::move(kept) : RewriteByLibjpeg(file, options);
}

int TransformOf(Orientation orientation) noexcept {
  if (orientation == OrientationOf(2)) return TJXOP_HFLIP;
  if (orientation == OrientationOf(3)) return TJXOP_ROT180;
  if (orientation == OrientationOf(4)) return TJXOP_VFLIP;
  if (orientation == OrientationOf(5)) return TJXOP_TRANSPOSE;
  if (orientation == OrientationOf(6)) return TJXOP_ROT90;
  if (orientation == OrientationOf(7)) return TJXOP_TRANSVERSE;
  if (orientation == OrientationOf(8)) return TJXOP_ROT270;
  return TJXOP_NONE;
}

// The file turned without decoding, or nullopt if blocks at the edge are not whole.
std::optional<std::vector<std::byte>> Turn(Bytes file, Orientation orientation) {
  const AllocationWatch memory;
  const std::unique_ptr<void, int (*)(void*)> handle(tjInitTransform(), &tjDestroy);
  if (!handle) throw std::bad_alloc();
  tjtransform transform{};
  transform.op = TransformOf(orientation);
  transform.options = TJXOPT_PERFECT | TJXOPT_COPYNONE;
  unsigned char* turned = nullptr;
  unsigned long bytes = 0;
  const int result = tjTransform(handle.get(), reinterpret_cast<const unsigned char*>(file.data()),
                                 file.size(), 1, &turned, &bytes, &transform, TJFLAG_LIMITSCANS);
  const std::unique_ptr<unsigned char, void (*)(unsigned char*)> owner(turned, &tjFree);
  if (result != 0 && memory.failed()) throw std::bad_alloc();
  if (result != 0) return std::nullopt;
  const auto* begin = reinterpret_cast<const std::byte*>(turned);
  return std::vector<std::byte>(begin, begin + bytes);
}

}  // namespace

std::optional<KeptJpeg> KeepJpeg(const JpegFile& file, const JpegSource& source,
                                 const ConvertOptions& options, baseline::BlockReader& reader) {
  if (!CanBeKept(source.header(), options.form.channels)) return std::nullopt;
  // First without turning, which finds broken files.
  std::optional<KeptJpeg> kept = RewriteAny(file, options, reader);
  if (!kept || source.orientation().identity()) return kept;
  const std::optional<std::vector<std::byte>> turned = Turn(kept->file, source.orientation());
  if (!turned) return std::nullopt;
  return RewriteAny({*turned}, options, reader);
}

bool JpegRecoder::Take(Bytes file, std::uint32_t width, std::uint32_t height,
                       const ConvertOptions& options) {
  header_ = StoredHeader(width, height, options.form.channels, options);
  if (!recoder_.Begin(file, header_)) return false;
  packs_ = options.form.image == ImageCodec::kPacked && packed::BeginCoefficients(header_, packed_);
  const baseline::McuRow row(header_);
  if (!packs_) MakeRoom(row.values() * header_.mcus_down, rows_);
  kernels::BlockPlaces places[3];
  for (std::uint32_t c = 0; c < header_.components; ++c) {
    places[c] = packs_ ? row.InPlane(c, packed_.blocks[c].data()) : row.InRows(c, rows_.data());
  }
  const bool taken = recoder_.Recode(places, packs_);
  if (!taken) FreeMemory();
  return taken;
}

void JpegRecoder::FreeMemory() {
  FreeLarge(rows_);
  std::ranges::for_each(packed_.blocks, FreeLarge<std::int16_t>);
}

void JpegRecoder::Store(FieldValue& value) {
  value.width = header_.width;
  value.height = header_.height;
  value.channels = static_cast<std::uint8_t>(header_.components);
  if (packs_) {
    value.codec = Codec::kPacked;
    value.bytes = packed::Pack(packed_);
    if (value.bytes.size() > kMaxPayloadBytes) {
      value.codec = Codec::kJpeg;
      value.bytes = packed::WriteJpeg(packed_);
    }
  } else {
    value.codec = Codec::kJpeg;
    value.bytes = baseline::WriteFile(kernels::Chosen(), header_, rows_.data());
  }
  FreeMemory();
}

bool PackJpeg(FieldValue& value, baseline::BlockReader& reader) {
  packed::Coefficients coefficients;
  std::string why;
  switch (packed::ReadCoefficients(value.bytes, reader, coefficients, why)) {
    case packed::Taken::kYes: break;
    case packed::Taken::kNo: return false;
    case packed::Taken::kBroken: throw Error(ErrorCode::kCorrupt, "broken JPEG: " + why);
  }
  std::vector<std::byte> packed = packed::Pack(coefficients);
  if (packed.size() > kMaxPayloadBytes) return false;
  value.bytes = std::move(packed);
  value.codec = Codec::kPacked;
  value.width = coefficients.header.width;
  value.height = coefficients.header.height;
  value.channels = static_cast<std::uint8_t>(coefficients.header.components);
  return true;
}

}  // namespace sluice
