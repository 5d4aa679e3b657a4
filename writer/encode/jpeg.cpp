// All JPEGs made here are baseline with the standard Huffman tables.
//
// Pixels are encoded one line of MCUs after another (ForLines): PlaneLines or RgbLines fill a
// LineTransform with samples, and the coefficients that it makes go to a JPEG file or a packed
// image. A JPEG that keeps its coefficients is rewritten by our own reader and writer (Rewrite), or
// by libjpeg if our reader does not read it (RewriteByLibjpeg).
#include "writer/encode/jpeg.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>

#include <turbojpeg.h>

#include <sluice/error.h>

#include "format/disk/bytes.h"
#include "format/disk/limits.h"
#include "format/disk/system_error.h"
#include "format/pixels/baseline/encoder.h"
#include "format/pixels/baseline/huffman.h"
#include "format/pixels/kept_memory.h"
#include "format/pixels/packed/pack.h"
#include "writer/source/images/jpeg.h"

namespace sluice {

namespace {

// Writes `line` with its last value repeated up to `width`.
void PutLine(const std::uint8_t* line, std::size_t count, std::size_t width, std::uint8_t* out) {
  std::memcpy(out, line, count);
  std::memset(out + count, line[count - 1], width - count);
}

// Fills a LineTransform with a line of MCUs from a picture's planes. The last value of each line
// and the last line are repeated to fill whole blocks.
class PlaneLines {
 public:
  PlaneLines(const Picture& picture, const baseline::Header& header) : header_(header) {
    const std::uint8_t* values = picture.pixels.data();
    for (std::uint32_t c = 0; c < header.components; ++c) {
      planes_[c] = values;
      values += std::size_t{header.component[c].width} * header.component[c].height;
    }
  }

  void Fill(std::uint32_t row, baseline::LineTransform& out) const {
    for (std::uint32_t c = 0; c < header_.components; ++c) {
      const baseline::Component& component = header_.component[c];
      for (std::uint32_t line = 0; line < out.lines(c); ++line) {
        const std::uint32_t from = std::min(row * out.lines(c) + line, component.height - 1);
        PutLine(planes_[c] + std::size_t{from} * component.width, component.width, out.width(c),
                out.Line(c, line));
      }
    }
  }

 private:
  const baseline::Header& header_;
  const std::uint8_t* planes_[3] = {};
};

// Like PlaneLines, but from RGB. If chroma is halved, the picture is first extended to an even
// size, as libjpeg does it.
class RgbLines {
 public:
  RgbLines(const Picture& picture, const baseline::Header& header, const kernels::Kernels& set)
      : picture_(picture),
        set_(set),
        shrink_(header.max_h),
        stride_(AlignUp(std::size_t{picture.width}, 16) + kernels::kSlack),
        colours_(3 * stride_),
        chroma_(4 * stride_) {}

  void Fill(std::uint32_t row, baseline::LineTransform& out) {
    for (std::uint32_t line = 0; line < out.lines(0); line += shrink_) {
      for (std::uint32_t half = 0; half < shrink_; ++half)
        Convert(row * out.lines(0) + line + half, out.Line(0, line + half), out.width(0), half);
      for (std::uint32_t c = 1; c < 3; ++c)
        PutChroma(c, row * out.lines(0) + line, line / shrink_, out);
    }
  }

 private:
  // The line of Cb (c = 1) or Cr (c = 2). `half`: 0, or 1 for the second of two lines that are
  // halved to one.
  std::uint8_t* Chroma(std::uint32_t c, std::uint32_t half) {
    return chroma_.data() + (2 * (c - 1) + half) * stride_;
  }

  // Converts line `y` of the picture, or its last line if there are fewer: Y to `luma`, Cb and Cr
  // to Chroma(c, half).
  void Convert(std::uint32_t y, std::uint8_t* luma, std::size_t width, std::uint32_t half) {
    const std::size_t count = picture_.width;
    std::uint8_t* const r = colours_.data();
    const std::size_t from = std::min(y, picture_.height - 1);
    set_.split_rgb(picture_.pixels.data() + from * count * 3, count, r, r + stride_,
                   r + 2 * stride_);
    set_.to_ycc(r, stride_, count, luma, Chroma(1, half), Chroma(2, half));
    std::memset(luma + count, luma[count - 1], width - count);
    for (std::uint32_t c = 1; c < 3; ++c) {
      std::uint8_t* const line = Chroma(c, half);
      std::memset(line + count, line[count - 1], stride_ - count);
    }
  }

  void PutChroma(std::uint32_t c, std::uint32_t y, std::uint32_t line,
                 baseline::LineTransform& out) {
    std::uint8_t* const to = out.Line(c, line);
    if (y >= picture_.height && line > 0) {  // below the picture: repeat the last stored line
      std::memcpy(to, out.Line(c, line - 1), out.width(c));
    } else if (shrink_ == 1) {
      std::memcpy(to, Chroma(c, 0), out.width(c));
    } else {
      set_.halve_lines(Chroma(c, 0), Chroma(c, 1), out.width(c), to);
    }
  }

  const Picture& picture_;
  const kernels::Kernels& set_;
  const std::uint32_t shrink_;  // 2 if chroma is halved, otherwise 1
  const std::size_t stride_;
  std::vector<std::uint8_t> colours_, chroma_;  // a line's R, G and B; the lines of Chroma()
};

void RequireSides(const Picture& picture) {
  if (std::max(picture.width, picture.height) <= kMaxJpegSide) return;
  throw Error(ErrorCode::kLimit, "has " + std::to_string(picture.width) + "x" +
                                     std::to_string(picture.height) +
                                     " pixels, but a side of a JPEG can have at most 65500; make "
                                     "it smaller, or store raw pixels");
}

// Calls `use` with each line of MCUs and the transform that holds its samples.
template <class Lines, class Use>
void ForLines(const kernels::Kernels& set, const baseline::Header& header, Lines lines,
              const Use& use) {
  baseline::LineTransform transform(set, header);
  for (std::uint32_t row = 0; row < header.mcus_down; ++row) {
    lines.Fill(row, transform);
    use(transform, row);
  }
}
template <class Use>
void ForLines(const Picture& picture, const baseline::Header& header, const Use& use) {
  const kernels::Kernels& set = kernels::Chosen();
  if (picture.ycc420 || picture.channels == 1)
    return ForLines(set, header, PlaneLines(picture, header), use);
  ForLines(set, header, RgbLines(picture, header, set), use);
}

std::uint32_t RestartInterval(const baseline::Header& header, bool markers) {
  return markers ? baseline::RestartInterval(header.width, 8 * header.max_h) : 0;
}

}  // namespace

baseline::Header StoredHeader(std::uint32_t width, std::uint32_t height, std::uint32_t channels,
                              const ConvertOptions& options) {
  baseline::Header header;
  header.width = width;
  header.height = height;
  header.components = channels;
  if (options.form.subsampling == Subsampling::k420 && channels == 3)
    header.component[0].h = header.component[0].v = 2;
  for (std::uint32_t c = 0; c < header.components; ++c) {
    header.component[c].id = static_cast<std::uint8_t>(c + 1);
    header.component[c].quant = c == 0 ? 0 : 1;
  }
  // Chroma has steps of its own, as libjpeg sets them.
  for (const std::size_t table : {0, 1})
    baseline::StandardSteps(table, options.form.quality, header.quant[table]);
  baseline::DeriveSizes(header);
  header.restart_interval = RestartInterval(header, options.form.restart_markers);
  return header;
}

std::vector<std::byte> EncodeJpeg(const Picture& picture, const ConvertOptions& options) {
  RequireSides(picture);
  const baseline::Header header =
      StoredHeader(picture.width, picture.height, picture.channels, options);
  baseline::FileWriter file(kernels::Chosen(), header);
  ForLines(picture, header, [&file](baseline::LineTransform& transform, std::uint32_t row) {
    file.Add(transform.Run(row));
  });
  return file.Finish();
}

std::optional<std::vector<std::byte>> EncodePacked(const Picture& picture,
                                                   const ConvertOptions& options) {
  RequireSides(picture);
  const baseline::Header header =
      StoredHeader(picture.width, picture.height, picture.channels, options);
  packed::Coefficients made;
  if (!packed::BeginCoefficients(header, made)) return std::nullopt;
  std::int16_t* const planes[] = {made.blocks[0].data(), made.blocks[1].data(),
                                  made.blocks[2].data()};
  ForLines(picture, header, [&planes](const baseline::LineTransform& transform, std::uint32_t row) {
    transform.RunPlanes(row, planes);
  });
  std::vector<std::byte> packed = packed::Pack(made);
  // A packed image may be larger than any payload; the caller then stores a JPEG.
  if (packed.size() > kMaxPayloadBytes) return std::nullopt;
  return packed;
}

void EncodeInto(const Picture& picture, const ConvertOptions& options, FieldValue& value) {
  std::optional<std::vector<std::byte>> packed;
  if (options.form.image == ImageCodec::kPacked) packed = EncodePacked(picture, options);
  value.codec = packed ? Codec::kPacked : Codec::kJpeg;
  value.bytes = packed ? *std::move(packed) : EncodeJpeg(picture, options);
  value.SetSize(picture.width, picture.height, picture.channels);
}

// libjpeg's object for writing a file into memory; its errors are trapped.
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

  // The file. Call it after jpeg_finish_compress().
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
      // Only a DC value may be as low as -1024.
      for (std::size_t i = 0; least < -kMax && i < count; ++i) {
        if (row[i] < -kMax && i % DCTSIZE2 != 0) return false;
      }
    }
  }
  return true;
}

// False, with nothing written, if baseline JPEG cannot express the coefficients.
bool WriteCoefficients(JpegWriting& out, JpegSource& source, jvirt_barray_ptr* coefficients,
                       bool restart_markers) {
  if (setjmp(out.trap.jump) != 0) out.trap.Throw();
  if (!HaveCodes(out.object, source.header(), coefficients)) return false;
  jpeg_copy_critical_parameters(&source.object(), &out.object);
  // The standard's tables, as in every other file that is made here.
  out.object.optimize_coding = FALSE;
  const auto mcu_width = static_cast<std::uint32_t>(
      DCTSIZE * (out.object.num_components > 1 ? out.object.comp_info[0].h_samp_factor : 1));
  out.object.restart_interval =
      restart_markers ? baseline::RestartInterval(source.width(), mcu_width) : 0;
  jpeg_write_coefficients(&out.object, coefficients);
  jpeg_finish_compress(&out.object);
  return true;
}

// Rewrites a file for which CanBeKept() is true, with libjpeg's reader and writer, without turning
// it.
std::optional<FieldValue> RewriteByLibjpeg(const JpegFile& file, const ConvertOptions& options) {
  JpegSource source(file);
  jvirt_barray_ptr* const coefficients = source.ReadCoefficients();
  if (!HasSmallSteps(source.header())) return std::nullopt;
  FieldValue kept;
  kept.codec = Codec::kJpeg;
  try {
    JpegWriting out;
    if (!WriteCoefficients(out, source, coefficients, options.form.restart_markers))
      return std::nullopt;
    kept.bytes = out.File();
  } catch (const Error&) {
    // libjpeg cannot write this file, for example because its tables changed between scans. The
    // file can still be decoded.
    return std::nullopt;
  }
  kept.SetSize(source.width(), source.height(),
               static_cast<std::uint32_t>(source.header().num_components));
  return kept;
}

// The header of the file to write, as libjpeg would copy it.
baseline::Header NewHeader(const baseline::Header& old, bool restart_markers) {
  baseline::Header header = old;
  header.restart_interval = RestartInterval(header, restart_markers);
  return header;
}

// Like RewriteByLibjpeg(), with our own reader and writer. nullopt if our reader does not read this
// kind of file, if the file is broken, or if baseline has no code for a DC coefficient. Other
// coefficients were read from baseline codes, so they can always be written.
std::optional<FieldValue> Rewrite(Bytes file, const ConvertOptions& options,
                                  baseline::BlockReader& reader) {
  constexpr std::int16_t kLeastDc = -1024, kMaxDc = 1023;
  if (!reader.Begin(file)) return std::nullopt;
  const baseline::Header header = NewHeader(reader.header(), options.form.restart_markers);
  const std::size_t values = baseline::McuLine(header).values();
  baseline::FileWriter out(kernels::Chosen(), header);
  const bool read = reader.ReadLines([&](const std::int16_t* blocks) {
    for (std::size_t at = 0; at < values; at += baseline::kCoefficients) {
      if (blocks[at] < kLeastDc || blocks[at] > kMaxDc) return false;
    }
    out.Add(blocks);
    return true;
  });
  if (!read) return std::nullopt;
  FieldValue kept{out.Finish(), Codec::kJpeg};
  kept.SetSize(header.width, header.height, header.components);
  return kept;
}

std::optional<FieldValue> RewriteAny(const JpegFile& file, const ConvertOptions& options,
                                     baseline::BlockReader& reader) {
  std::optional<FieldValue> kept = Rewrite(file.bytes, options, reader);
  return kept ? std::move(kept) : RewriteByLibjpeg(file, options);
}

int TransformOf(Orientation orientation) noexcept {
  constexpr int kFrom2[] = {TJXOP_HFLIP, TJXOP_ROT180,     TJXOP_VFLIP, TJXOP_TRANSPOSE,
                            TJXOP_ROT90, TJXOP_TRANSVERSE, TJXOP_ROT270};
  for (unsigned i = 0; i < std::size(kFrom2); ++i) {
    if (orientation == OrientationOf(i + 2)) return kFrom2[i];
  }
  return TJXOP_NONE;
}

// Turns a file without decoding it; nullopt if that fails, as when blocks at an edge are not whole.
std::optional<std::vector<std::byte>> Turn(Bytes file, Orientation orientation) {
  const AllocationWatch memory;
  const std::unique_ptr<void, int (*)(void*)> handle(tjInitTransform(), &tjDestroy);
  if (!handle) throw std::bad_alloc();
  tjtransform transform{};
  transform.op = TransformOf(orientation);
  // PERFECT: refuse instead of leaving blocks at an edge unturned.
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

std::optional<FieldValue> KeepJpeg(const JpegFile& file, const JpegSource& source,
                                   const ConvertOptions& options, baseline::BlockReader& reader) {
  if (!CanBeKept(source.header(), options.form.channels)) return std::nullopt;
  // The file is first rewritten without turning it: this finds broken files.
  std::optional<FieldValue> kept = RewriteAny(file, options, reader);
  if (!kept || source.orientation().identity()) return kept;
  const std::optional<std::vector<std::byte>> turned = Turn(kept->bytes, source.orientation());
  if (!turned) return std::nullopt;
  return RewriteAny({*turned}, options, reader);
}

bool JpegRecoder::Take(Bytes file, std::uint32_t width, std::uint32_t height,
                       const ConvertOptions& options) {
  header_ = StoredHeader(width, height, options.form.channels, options);
  if (!recoder_.Begin(file, header_)) return false;
  packs_ = options.form.image == ImageCodec::kPacked && packed::BeginCoefficients(header_, packed_);
  const baseline::McuLine row(header_);
  if (!packs_) MakeRoom(row.values() * header_.mcus_down, rows_);
  kernels::BlockPlaces places[3];
  for (std::uint32_t c = 0; c < header_.components; ++c) {
    places[c] = packs_ ? row.InPlane(c, packed_.blocks[c].data()) : row.InLines(c, rows_.data());
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
  value.SetSize(header_.width, header_.height, header_.components);
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
  const packed::Header& header = coefficients.header;
  value.SetSize(header.width, header.height, header.components);
  return true;
}

}  // namespace sluice
