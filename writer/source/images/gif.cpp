// The first frame of a GIF on its canvas, by giflib, as browsers draw it.
//
// The canvas is transparent outside the frame and where the frame has its transparent colour. The
// background colour that a GIF may name is ignored, as in browsers.
// giflib does not always say so if a file simply ended: Fail() takes any error for that if no byte
// is left.
#include <algorithm>
#include <array>
#include <memory>

#include <gif_lib.h>

#include <sluice/error.h>

#include "writer/source/images/pixel_source.h"

namespace sluice {

namespace {

class GifSource : public PixelSource {
 public:
  explicit GifSource(Bytes file);

  Picture Decode(const ColorRules& rules) override;

 private:
  static int Read(GifFileType* gif, unsigned char* to, int count);
  // Reads up to the pixels of the first frame.
  void FindFrame();
  void ReadExtension();
  void Fail(int error);
  void Check(int result);

  Bytes rest_;  // the part of the file not read yet
  std::unique_ptr<GifFileType, void (*)(GifFileType*)> gif_;
  int transparent_ = -1;  // index of the transparent colour; -1: none
};

[[noreturn]] void ThrowBrokenGif(const char* what) {
  throw Error(ErrorCode::kCorrupt,
              std::string("broken GIF: ") + (what != nullptr ? what : "it cannot be read"));
}

void Close(GifFileType* gif) {
  DGifCloseFile(gif, nullptr);
}

// The order in which the rows of an interlaced frame are stored.
std::vector<std::uint32_t> LineOrder(std::uint32_t height, bool interlaced) {
  std::vector<std::uint32_t> rows;
  rows.reserve(height);
  struct Pass {
    std::uint32_t first, step;
  };
  constexpr std::array<Pass, 4> kPasses = {{{0, 8}, {4, 8}, {2, 4}, {1, 2}}};
  constexpr std::array<Pass, 1> kAll = {{{0, 1}}};
  for (const Pass& pass :
       interlaced ? std::span<const Pass>(kPasses) : std::span<const Pass>(kAll)) {
    for (std::uint32_t y = pass.first; y < height; y += pass.step)
      rows.push_back(y);
  }
  return rows;
}

// Zeros at the end are dropped except two: the end mark may be missing, and the data of a picture
// may itself end in two zeros.
GifSource::GifSource(Bytes file)
    : rest_(file.first(std::min(file.size(), WithoutZeros(file).size() + 2))),
      gif_(nullptr, &Close) {
  int error = 0;
  gif_.reset(DGifOpen(&rest_, &GifSource::Read, &error));
  if (!gif_) Fail(error);
  FindFrame();
  // A frame that reaches beyond the canvas enlarges it, as in browsers.
  const GifImageDesc& frame = gif_->Image;
  width_ = static_cast<std::uint32_t>(std::max(gif_->SWidth, frame.Left + frame.Width));
  height_ = static_cast<std::uint32_t>(std::max(gif_->SHeight, frame.Top + frame.Height));
}

int GifSource::Read(GifFileType* gif, unsigned char* to, int count) {
  Bytes& rest = *static_cast<Bytes*>(gif->UserData);
  const std::size_t got = std::min(rest.size(), static_cast<std::size_t>(count));
  std::copy_n(reinterpret_cast<const unsigned char*>(rest.data()), got, to);
  rest = rest.subspan(got);
  return static_cast<int>(got);
}

// Returns only if the file ends early and such pictures are accepted; otherwise throws.
void GifSource::Fail(int error) {
  const char* const sentence = GifErrorString(error);
  if (!rest_.empty() && error != D_GIF_ERR_EOF_TOO_SOON) ThrowBrokenGif(sentence);
  EndsEarly("broken GIF", sentence != nullptr ? sentence : "it cannot be read");
}

void GifSource::Check(int result) {
  if (result == GIF_ERROR) Fail(gif_->Error);
}

void GifSource::FindFrame() {
  for (;;) {
    GifRecordType type = UNDEFINED_RECORD_TYPE;
    Check(DGifGetRecordType(gif_.get(), &type));
    if (type == EXTENSION_RECORD_TYPE) ReadExtension();
    if (type == TERMINATE_RECORD_TYPE) ThrowBrokenGif("it has no picture");
    if (type != IMAGE_DESC_RECORD_TYPE) continue;
    return Check(DGifGetImageDesc(gif_.get()));
  }
}

void GifSource::ReadExtension() {
  int code = 0;
  GifByteType* block = nullptr;  // first byte: its length
  Check(DGifGetExtension(gif_.get(), &code, &block));
  while (block != nullptr) {
    GraphicsControlBlock control{};
    if (code == GRAPHICS_EXT_FUNC_CODE &&
        DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK) {
      transparent_ = control.TransparentColor;
    }
    Check(DGifGetExtensionNext(gif_.get(), &block));
  }
}

Picture GifSource::Decode(const ColorRules& rules) {
  const GifImageDesc& frame = gif_->Image;
  const ColorMapObject* const colours =
      frame.ColorMap != nullptr ? frame.ColorMap : gif_->SColorMap;
  if (colours == nullptr) ThrowBrokenGif("it has no colours");
  Picture picture = MakePicture(rules.channels);
  std::vector<std::uint8_t> rgba(std::size_t{width_} * 4);  // transparent outside the frame
  for (std::uint32_t y = 0; y < height_; ++y) {
    StoreRgbaLine(rgba.data(), width_, picture.channels, rules, picture.Line(y));
  }
  std::vector<GifPixelType> line(static_cast<std::size_t>(frame.Width));
  for (const std::uint32_t row :
       LineOrder(static_cast<std::uint32_t>(frame.Height), frame.Interlace)) {
    if (DGifGetLine(gif_.get(), line.data(), frame.Width) == GIF_ERROR) {
      Fail(gif_->Error);
      break;
    }
    std::uint8_t* out = &rgba[static_cast<std::size_t>(frame.Left) * 4];
    for (const GifPixelType index : line) {
      // An index outside of the colour map is black: giflib does not check it.
      const GifColorType colour =
          index < colours->ColorCount ? colours->Colors[index] : GifColorType{0, 0, 0};
      *out++ = colour.Red;
      *out++ = colour.Green;
      *out++ = colour.Blue;
      *out++ = index == transparent_ ? 0 : 255;
    }
    const std::size_t y = static_cast<std::size_t>(frame.Top) + row;
    // The buffer outside of the frame is still transparent: only the frame's part of it was
    // written.
    StoreRgbaLine(rgba.data(), width_, picture.channels, rules, picture.Line(y));
  }
  return picture;
}

}  // namespace

std::unique_ptr<PixelSource> OpenGif(Bytes file, bool) {
  return std::make_unique<GifSource>(file);
}

std::string GifVersion() {
  return std::to_string(GIFLIB_MAJOR) + "." + std::to_string(GIFLIB_MINOR) + "." +
         std::to_string(GIFLIB_RELEASE);
}

}  // namespace sluice
