#include "writer/encode/jpeg.h"

#include <algorithm>
#include <cstring>

#include <sluice/error.h>

#include "format/disk/bytes.h"
#include "format/disk/limits.h"
#include "format/pixels/baseline/encoder.h"
#include "format/pixels/baseline/huffman.h"
#include "format/pixels/packed/pack.h"

namespace sluice {

namespace {

// Writes `line` with its last value repeated up to `width`.
void PutLine(const std::uint8_t* line, std::size_t count, std::size_t width, std::uint8_t* out) {
  std::memcpy(out, line, count);
  std::memset(out + count, line[count - 1], width - count);
}

// The lines of rows of MCUs from a picture's planes: whole blocks, with the last value of a line
// and the last line repeated.
class PlaneLines {
 public:
  PlaneLines(const Picture& picture, const baseline::Header& header) : header_(header) {
    const std::uint8_t* values = picture.pixels.data();
    for (std::uint32_t c = 0; c < header.components; ++c) {
      planes_[c] = values;
      values += std::size_t{header.component[c].width} * header.component[c].height;
    }
  }

  void Fill(std::uint32_t row, baseline::RowTransform& out) const {
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

// The same from RGB. Where chroma is halved, the picture is made larger to an even size first, as
// libjpeg does it.
class RgbLines {
 public:
  RgbLines(const Picture& picture, const baseline::Header& header, const kernels::Kernels& set)
      : picture_(picture),
        set_(set),
        shrink_(header.max_h),
        stride_(AlignUp(std::size_t{picture.width}, 16) + kernels::kSlack),
        colours_(3 * stride_),
        chroma_(4 * stride_) {}

  void Fill(std::uint32_t row, baseline::RowTransform& out) {
    for (std::uint32_t line = 0; line < out.lines(0); line += shrink_) {
      for (std::uint32_t half = 0; half < shrink_; ++half)
        Convert(row * out.lines(0) + line + half, out.Line(0, line + half), out.width(0), half);
      for (std::uint32_t c = 1; c < 3; ++c)
        PutChroma(c, row * out.lines(0) + line, line / shrink_, out);
    }
  }

 private:
  std::uint8_t* Chroma(std::uint32_t c, std::uint32_t half) {
    return chroma_.data() + (2 * (c - 1) + half) * stride_;
  }

  // Line `y` of the picture, or its last: Y to `luma`, the others to Chroma(c, half).
  void Convert(std::uint32_t y, std::uint8_t* luma, std::size_t width, std::uint32_t half) {
    const std::size_t count = picture_.width;
    std::uint8_t* const r = colours_.data();
    std::uint8_t* const g = r + stride_;
    std::uint8_t* const b = g + stride_;
    const std::size_t from = std::min(y, picture_.height - 1);
    set_.split_rgb(picture_.pixels.data() + from * count * 3, count, r, g, b);
    set_.to_ycc(r, g, b, count, luma, Chroma(1, half), Chroma(2, half));
    std::memset(luma + count, luma[count - 1], width - count);
    for (std::uint32_t c = 1; c < 3; ++c) {
      std::uint8_t* const line = Chroma(c, half);
      std::memset(line + count, line[count - 1], stride_ - count);
    }
  }

  void PutChroma(std::uint32_t c, std::uint32_t y, std::uint32_t line,
                 baseline::RowTransform& out) {
    std::uint8_t* const to = out.Line(c, line);
    if (y >= picture_.height && line > 0) {  // below the last: repeated as it is stored
      std::memcpy(to, out.Line(c, line - 1), out.width(c));
    } else if (shrink_ == 1) {
      std::memcpy(to, Chroma(c, 0), out.width(c));
    } else {
      set_.halve_lines(Chroma(c, 0), Chroma(c, 1), out.width(c), to);
    }
  }

  const Picture& picture_;
  const kernels::Kernels& set_;
  const std::uint32_t shrink_;  // of chroma
  const std::size_t stride_;
  std::vector<std::uint8_t> colours_, chroma_;
};

void RequireSides(const Picture& picture) {
  if (std::max(picture.width, picture.height) <= kMaxJpegSide) return;
  throw Error(ErrorCode::kLimit, "has " + std::to_string(picture.width) + "x" +
                                     std::to_string(picture.height) +
                                     " pixels, but a side of a JPEG can have at most 65500; make "
                                     "it smaller, or store raw pixels");
}

// Calls `use` with each row of MCUs and the transform that holds its samples.
template <class Lines, class Use>
void ForRows(const kernels::Kernels& set, const baseline::Header& header, Lines lines,
             const Use& use) {
  baseline::RowTransform transform(set, header);
  for (std::uint32_t row = 0; row < header.mcus_down; ++row) {
    lines.Fill(row, transform);
    use(transform, row);
  }
}
template <class Use>
void ForRows(const Picture& picture, const baseline::Header& header, const Use& use) {
  const kernels::Kernels& set = kernels::Chosen();
  if (picture.ycc420 || picture.channels == 1)
    return ForRows(set, header, PlaneLines(picture, header), use);
  ForRows(set, header, RgbLines(picture, header, set), use);
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
  for (const std::size_t table : {0, 1})
    baseline::StandardSteps(table, options.form.quality, header.quant[table]);
  baseline::DeriveSizes(header);
  header.restart_interval = static_cast<std::uint32_t>(std::min<std::uint64_t>(
      std::uint64_t{options.form.restart_rows} * header.mcus_across, 65'535));
  return header;
}

std::vector<std::byte> EncodeJpeg(const Picture& picture, const ConvertOptions& options) {
  RequireSides(picture);
  const baseline::Header header =
      StoredHeader(picture.width, picture.height, picture.channels, options);
  baseline::FileWriter file(kernels::Chosen(), header);
  ForRows(picture, header, [&file](baseline::RowTransform& transform, std::uint32_t row) {
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
  ForRows(picture, header, [&planes](const baseline::RowTransform& transform, std::uint32_t row) {
    transform.RunPlanes(row, planes);
  });
  std::vector<std::byte> packed = packed::Pack(made);
  if (packed.size() > kMaxPayloadBytes) return std::nullopt;
  return packed;
}

void EncodeInto(const Picture& picture, const ConvertOptions& options, FieldValue& value) {
  std::optional<std::vector<std::byte>> packed;
  if (options.form.image == ImageCodec::kPacked) packed = EncodePacked(picture, options);
  value.codec = packed ? Codec::kPacked : Codec::kJpeg;
  value.bytes = packed ? *std::move(packed) : EncodeJpeg(picture, options);
  value.width = picture.width;
  value.height = picture.height;
  value.channels = static_cast<std::uint8_t>(picture.channels);
}

}  // namespace sluice
