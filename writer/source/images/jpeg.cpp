// JPEG, by libjpeg-turbo, in three parts.
//
// 1. TakeJpeg() cuts a file down to its picture. A file may have anything after that, or instead of
// the end marker: the zeros of a broken download, a second picture, garbage. Decoders differ in
// whether they look there. So every decoder gets the picture alone, and all of them judge a file
// alike.
//
// 2. JpegTrap and JpegReading turn libjpeg's errors, which leave it by longjmp, into exceptions.
// They also limit its memory and the number of scans of a progressive file.
//
// 3. JpegSource decodes pixels, at a reduced size if asked to, or reads the coefficients for
// transcoding.
#include "writer/source/images/jpeg.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include <sluice/error.h>

namespace sluice {

namespace {

// The second byte of markers.
constexpr unsigned kEndOfImage = 0xD9;
constexpr unsigned kStartOfScan = 0xDA;
constexpr unsigned kFirstApplication = 0xE0;

unsigned ByteAt(Bytes file, std::size_t at) noexcept {
  return std::to_integer<unsigned>(file[at]);
}

// The position of the next marker at or after `at`, or the file's size without one. 0xFF
// followed by a zero is data; 0xFF followed by another 0xFF is a fill byte.
std::size_t FindMarker(Bytes file, std::size_t at) noexcept {
  while (at + 1 < file.size()) {
    const void* const found = std::memchr(file.data() + at, 0xFF, file.size() - 1 - at);
    if (found == nullptr) break;
    at = static_cast<std::size_t>(static_cast<const std::byte*>(found) - file.data());
    const unsigned next = ByteAt(file, at + 1);
    if (next != 0 && next != 0xFF) return at;
    at += next == 0 ? 2 : 1;
  }
  return file.size();
}

constexpr bool StandsAlone(unsigned marker) noexcept {
  return marker == 0x01 || (marker >= 0xD0 && marker <= 0xD7);
}

// Whether the marker may stand between two scans: tables, restart intervals, number of lines,
// another scan, application data or a comment.
constexpr bool StandsBetweenScans(unsigned marker) noexcept {
  return marker == 0xC4 || marker == 0xCC || (marker >= 0xDA && marker <= 0xDD) ||
         (marker >= 0xE0 && marker <= 0xEF) || marker == 0xFE;
}

constexpr bool IsFrame(unsigned marker) noexcept {
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

// Whether one scan can hold all of the frame's data: sequential, with Huffman or arithmetic coding.
constexpr bool IsSequential(unsigned frame) noexcept {
  return frame == 0xC0 || frame == 0xC1 || frame == 0xC9;
}

struct End {
  std::size_t at = 0;   // end of the picture's data, where the end marker is or should be
  bool marked = false;  // an end marker, or another marker that can only follow a whole picture
};

// Where the data of a file without an end marker ends. Zeros at the end are dropped, with two
// exceptions: a zero after 0xFF (the two stand for one byte of data), and a single zero, which is
// the last coded byte. If several zeros were kept, they could hide a missing block: the usual code
// for "end of block" in chroma is two zero bits.
End EndOfData(Bytes file) noexcept {
  std::size_t size = WithoutZeros(file).size();
  if (size > 0 && size < file.size() && file[size - 1] == std::byte{0xFF}) ++size;
  return {file.size() - size == 1 ? file.size() : size, false};
}

End FindEnd(Bytes file) noexcept {
  unsigned components = 0;  // of a sequential frame; 0: one scan cannot hold all components
  bool scanned = false;
  bool complete = false;  // the only scan that the frame can have has been seen
  for (std::size_t at = 2;;) {
    at = FindMarker(file, at);
    if (at == file.size()) return EndOfData(file);
    const unsigned marker = ByteAt(file, at + 1);
    if (marker == kEndOfImage) return {at, true};
    if (StandsAlone(marker)) {
      at += 2;
      continue;
    }
    if (complete) return {at, true};
    if (scanned && !StandsBetweenScans(marker)) return {at, false};
    // A segment: two bytes of length, which count themselves, and its content.
    const std::size_t room = file.size() - at - 2;
    const std::size_t length = room < 2 ? 0 : ByteAt(file, at + 2) << 8 | ByteAt(file, at + 3);
    if (length < 2 || length > room) return scanned ? End{at, false} : EndOfData(file);
    if (IsFrame(marker)) {
      components = IsSequential(marker) && length > 7 ? ByteAt(file, at + 9) : 0;
    } else if (marker == kStartOfScan) {
      complete = !scanned && components > 0 && length > 2 && ByteAt(file, at + 4) == components;
      scanned = true;
    }
    at += 2 + length;
  }
}

constexpr std::string_view kExifMarker("Exif\0\0", 6);
constexpr std::string_view kXmpMarker("http://ns.adobe.com/xap/1.0/\0", 29);

// Whether Exif or XMP before the first scan turns the picture.
bool IsTurned(Bytes file) {
  Bytes exif;
  Bytes xmp;
  for (std::size_t at = FindMarker(file, 2); at + 4 <= file.size();) {
    const unsigned marker = ByteAt(file, at + 1);
    const std::size_t length = ByteAt(file, at + 2) << 8 | ByteAt(file, at + 3);
    if (marker == kStartOfScan || length < 2 || length > file.size() - at - 2) break;
    const Bytes data = file.subspan(at + 4, length - 2);
    if (marker == kFirstApplication + 1) {
      if (exif.empty() && AsText(data).starts_with(kExifMarker)) exif = data;
      if (xmp.empty() && AsText(data).starts_with(kXmpMarker)) xmp = data;
    }
    at = FindMarker(file, at + 2 + length);
  }
  if (exif.empty() && xmp.empty()) return false;
  return !ReadOrientation(exif, xmp).identity();
}

}  // namespace

std::optional<Bytes> UprightPicture(Bytes file) {
  const End end = FindEnd(file);
  const bool has_marker =
      end.marked && file.size() - end.at >= 2 && ByteAt(file, end.at + 1) == kEndOfImage;
  if (!has_marker || IsTurned(file)) return std::nullopt;
  return file.first(end.at + 2);
}

JpegFile TakeJpeg(std::vector<std::byte>& content) {
  const End end = FindEnd(content);
  content.resize(end.at);
  content.push_back(std::byte{0xFF});
  content.push_back(std::byte{kEndOfImage});
  return {content, end.marked};
}

namespace {

// A progressive file may have any number of scans, and each is a pass over the whole picture. Real
// encoders write about 10.
constexpr int kMaxScans = 100;

// Enough for the coefficients of the largest picture that max_pixels allows (2^28 pixels) in a
// progressive file with three full-size components, at two bytes each.
constexpr long kMaxLibraryBytes = 1'700'000'000;

// Whether the message says that data is missing: at the file's end, before an early marker, or
// between restart markers.
bool EndsEarly(int message) noexcept {
  return message == JWRN_JPEG_EOF || message == JWRN_HIT_MARKER || message == JWRN_MUST_RESYNC;
}

bool DamagesPixels(int message) noexcept {
#ifdef D_ARITH_CODING_SUPPORTED
  if (message == JWRN_ARITH_BAD_CODE) return true;
#endif
  return EndsEarly(message) || message == JWRN_HUFF_BAD_CODE;
}

[[noreturn]] void JumpOut(j_common_ptr common) {
  auto* trap = reinterpret_cast<JpegTrap*>(common->err);
  common->err->format_message(common, trap->text);
  std::longjmp(trap->jump, 1);
}

void OnMessage(j_common_ptr common, int level) {
  const int message = common->err->msg_code;
  if (level >= 0 || !DamagesPixels(message)) return;
  auto* trap = reinterpret_cast<JpegTrap*>(common->err);
  if (trap->cut_short[0] != 0) return;  // already past the end: all data from there on is made up
  if (!trap->takes_cut_short || !EndsEarly(message)) JumpOut(common);
  common->err->format_message(common, trap->cut_short);
}

void OnProgress(j_common_ptr common) {
  if (!common->is_decompressor) return;
  if (reinterpret_cast<j_decompress_ptr>(common)->input_scan_number <= kMaxScans) return;
  auto* trap = reinterpret_cast<JpegTrap*>(common->err);
  trap->base.msg_code = 0;  // none of libjpeg's own messages
  std::snprintf(trap->text, sizeof(trap->text), "has more than %d scans", kMaxScans);
  std::longjmp(trap->jump, 1);
}

bool IsUnsupported(int message) noexcept {
#if JPEG_LIB_VERSION < 70  // newer versions of libjpeg's interface lack this message
  if (message == JERR_ARITH_NOTIMPL) return true;
#endif
  return message == JERR_SOF_UNSUPPORTED || message == JERR_BAD_PRECISION ||
         message == JERR_CONVERSION_NOTIMPL || message == JERR_NOTIMPL ||
         message == JERR_NOT_COMPILED || message == JERR_FRACT_SAMPLE_NOTIMPL ||
         message == JERR_CCIR601_NOTIMPL;
}

}  // namespace

JpegTrap::JpegTrap() {
  jpeg_std_error(&base);
  base.error_exit = JumpOut;
  base.emit_message = OnMessage;
}

void JpegTrap::Throw() const {
  if (base.msg_code == JERR_OUT_OF_MEMORY) throw std::bad_alloc();
  if (IsUnsupported(base.msg_code)) {
    throw Error(ErrorCode::kUnsupported, std::string("unsupported JPEG: ") + text);
  }
  if (EndsEarly(base.msg_code)) throw CutShort("broken JPEG", text);
  throw Error(ErrorCode::kCorrupt, std::string("broken JPEG: ") + text);
}

JpegReading::JpegReading() {
  object.err = &trap.base;
  if (setjmp(trap.jump) != 0) trap.Throw();
  jpeg_create_decompress(&object);
  object.mem->max_memory_to_use = kMaxLibraryBytes;
  progress_.progress_monitor = OnProgress;
  object.progress = &progress_;
}

JpegReading::~JpegReading() {
  jpeg_destroy_decompress(&object);
}

namespace {

constexpr std::string_view kProfileMarker("ICC_PROFILE\0", 12);

bool IsCmyk(const jpeg_decompress_struct& object) noexcept {
  return object.jpeg_color_space == JCS_CMYK || object.jpeg_color_space == JCS_YCCK;
}

}  // namespace

JpegSource::JpegSource(const JpegFile& file, bool with_profile) : ended_(file.ended) {
  ReadHeader(file.bytes, with_profile);
  ReadMarkers();
}

void JpegSource::ReadHeader(Bytes bytes, bool with_profile) {
  if (setjmp(jpeg_.trap.jump) != 0) jpeg_.trap.Throw();
  jpeg_save_markers(&jpeg_.object, JPEG_APP0 + 1, 0xFFFF);
  jpeg_save_markers(&jpeg_.object, JPEG_APP0 + 2, with_profile ? 0xFFFF : kProfileMarker.size());
  jpeg_mem_src(&jpeg_.object, reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  jpeg_read_header(&jpeg_.object, TRUE);
}

void JpegSource::ReadMarkers() {
  Bytes exif;
  Bytes xmp;
  for (auto* marker = jpeg_.object.marker_list; marker != nullptr; marker = marker->next) {
    const Bytes data(reinterpret_cast<const std::byte*>(marker->data), marker->data_length);
    if (marker->marker == JPEG_APP0 + 1) {
      if (exif.empty() && AsText(data).starts_with(kExifMarker)) exif = data;
      if (xmp.empty() && AsText(data).starts_with(kXmpMarker)) xmp = data;
    }
    if (marker->marker == JPEG_APP0 + 2 && AsText(data).starts_with(kProfileMarker)) {
      has_profile_ = true;
    }
  }
  orientation_ = ReadOrientation(exif, xmp);
}

std::vector<std::byte> JpegSource::Profile() {
  if (setjmp(jpeg_.trap.jump) != 0) jpeg_.trap.Throw();
  JOCTET* data = nullptr;
  unsigned int size = 0;
  if (jpeg_read_icc_profile(&jpeg_.object, &data, &size) == FALSE) return {};
  const auto* const begin = reinterpret_cast<const std::byte*>(data);
  std::vector<std::byte> profile(begin, begin + size);
  std::free(data);
  return profile;
}

ProfileColors JpegSource::colors() const noexcept {
  const jpeg_decompress_struct& object = jpeg_.object;
  if (object.jpeg_color_space == JCS_GRAYSCALE) return ProfileColors::kGrey;
  if (!IsCmyk(object)) return ProfileColors::kRgb;
  return object.saw_Adobe_marker != 0 ? ProfileColors::kCmykInverted : ProfileColors::kCmyk;
}

void JpegSource::Start(std::uint32_t channels, std::uint32_t reduction) {
  if (setjmp(jpeg_.trap.jump) != 0) jpeg_.trap.Throw();
  jpeg_decompress_struct& object = jpeg_.object;
  object.scale_num = 8 / reduction;
  object.scale_denom = 8;
  object.dct_method = JDCT_ISLOW;
  if (IsCmyk(object)) {
    object.out_color_space = JCS_CMYK;
  } else if (channels == 1 || object.jpeg_color_space == JCS_GRAYSCALE) {
    object.out_color_space = JCS_GRAYSCALE;
  } else {
    object.out_color_space = JCS_RGB;
  }
  jpeg_start_decompress(&object);
}

bool JpegSource::may_lack_scans() const noexcept {
  const jpeg_decompress_struct& object = jpeg_.object;
  return !ended_ && (object.progressive_mode != 0 || object.comps_in_scan < object.num_components);
}

// A file with several scans may end before all components, or all of their bits, have arrived. If
// bits are missing although the file has an end marker, its author left them out on purpose.
void JpegSource::CheckScans() {
  const jpeg_decompress_struct& object = jpeg_.object;
  const char* missing = nullptr;
  for (int c = 0; c < object.num_components; ++c) {
    if (object.comp_info[c].quant_table == nullptr) {
      missing = "one of its colour components is missing";
    } else if (may_lack_scans() && object.coef_bits != nullptr && missing == nullptr) {
      // Number of bits still missing for each coefficient; -1: all of them.
      const int* const bits = object.coef_bits[c];
      if (std::any_of(bits, bits + DCTSIZE2, [](int left) { return left != 0; })) {
        missing = "its last scans are missing";
      }
    }
  }
  JpegTrap& trap = jpeg_.trap;
  if (missing == nullptr || trap.cut_short[0] != 0) return;
  if (ended_) throw Error(ErrorCode::kCorrupt, std::string("broken JPEG: ") + missing);
  if (!trap.takes_cut_short) throw CutShort("broken JPEG", missing);
  std::snprintf(trap.cut_short, sizeof trap.cut_short, "%s", missing);
}

void JpegSource::StoreLine(const ColorRules& rules, std::uint8_t* row, const Picture& picture,
                           std::uint8_t* out) const {
  if (!IsCmyk(jpeg_.object)) {
    return jpeg_.object.output_components == 1
               ? StoreGreyLine(row, picture.width, rules, out)
               : StoreRgbLine(row, picture.width, picture.channels, rules, out);
  }
  // Adobe's programs store inks inverted and add an Adobe marker. Nearly every CMYK JPEG is one of
  // theirs.
  StoreCmykLine(row, picture.width, jpeg_.object.saw_Adobe_marker != 0, picture.channels, rules,
                out);
}

void JpegSource::ReadLines(const ColorRules& rules, std::uint8_t* row, Picture& picture) {
  if (setjmp(jpeg_.trap.jump) != 0) jpeg_.trap.Throw();
  jpeg_decompress_struct& object = jpeg_.object;
  while (object.output_scanline < object.output_height) {
    std::uint8_t* const out = picture.Line(object.output_scanline);
    JSAMPROW target = row != nullptr ? row : out;
    jpeg_read_scanlines(&object, &target, 1);
    if (row != nullptr) StoreLine(rules, row, picture, out);
  }
}

Picture JpegSource::Decode(const ColorRules& rules, std::uint32_t reduction) {
  // Colours are converted to sRGB before they become grey.
  Start(rules.transform != nullptr ? 3 : rules.channels, reduction);
  const std::uint32_t channels = colors() == ProfileColors::kGrey ? 1 : rules.channels;
  Picture picture = NewPicture(jpeg_.object.output_width, jpeg_.object.output_height, channels);
  const bool in_place = !IsCmyk(jpeg_.object) && rules.transform == nullptr;
  std::vector<std::uint8_t> row(in_place ? 0 : std::size_t{picture.width} * 4);
  ReadLines(rules, in_place ? nullptr : row.data(), picture);
  CheckScans();
  return picture;
}

jvirt_barray_ptr* JpegSource::ReadCoefficients() {
  jvirt_barray_ptr* const coefficients = ReadAllCoefficients();
  CheckScans();
  return coefficients;
}

jvirt_barray_ptr* JpegSource::ReadAllCoefficients() {
  if (setjmp(jpeg_.trap.jump) != 0) jpeg_.trap.Throw();
  return jpeg_read_coefficients(&jpeg_.object);
}

}  // namespace sluice
