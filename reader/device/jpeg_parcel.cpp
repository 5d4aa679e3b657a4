// There are three kinds of pictures (JPEG, packed, raw), each in a payload or, taken apart before,
// in memory that the device reads. Make() asks whether a device can take the region at all, then
// places the picture's planes and weights in scratch memory (in units of 16 bytes), then lists the
// lines that the region needs. For a stored picture, it fills headers with sizes alone and computes
// the rest from them; the lines lie one after another, each padded to whole words as AppendLines()
// left it. Returning false is never an error: the host decodes the picture then.
#include "reader/device/jpeg_parcel.h"

#include <algorithm>
#include <cstring>

#include "format/pixels/baseline/segments.h"
#include "format/pixels/baseline/strand_table.h"
#include "format/pixels/kernels/tables.h"

namespace sluice {

std::uint32_t AppendTo(std::vector<std::uint32_t>& words, const void* bytes, std::size_t count) {
  const std::size_t at = words.size();
  words.resize(at + (count + 3) / 4);
  std::memcpy(words.data() + at, bytes, count);
  return static_cast<std::uint32_t>(at);
}

std::uint64_t MostCodedLines(std::uint64_t height, std::uint64_t payload_bytes) noexcept {
  return 3 * ((height + 7) / 8) + payload_bytes / 128;
}

bool JpegParts::Parse(const ImagePayload& payload) {
  if (payload.pixel_type != PixelType::kUint8) return false;
  form_ = {};
  payload_ = payload.bytes;
  switch (payload.codec) {
    case Codec::kJpeg: return ParseJpeg(payload);
    case Codec::kPacked: return ParsePacked(payload);
    case Codec::kRaw:
    case Codec::kZstd:
    case Codec::kTiled:
    case Codec::kAbsent: break;
  }
  return false;
}

bool JpegParts::ParseJpeg(const ImagePayload& payload) {
  if (!baseline::ParseHeader(payload.bytes, header_) || header_.width != payload.width ||
      header_.height != payload.height || !baseline::HoldsPicture(header_)) {
    return false;
  }
  // The device decodes all lines of MCUs at once, or equal parts of them, so each must begin at a
  // restart marker. A picture of one line needs no markers.
  const bool one_row = header_.mcus_down == 1 && header_.restart_interval == 0;
  const std::uint32_t interval = one_row ? header_.mcus_across : header_.restart_interval;
  if (interval == 0 || header_.mcus_across % interval != 0) return false;
  form_.parts = static_cast<std::uint16_t>(header_.mcus_across / interval);
  // A picture with a marker after every few MCUs would need more lines than the job has room for.
  if (std::uint64_t{form_.parts} * header_.mcus_down >
      MostCodedLines(header_.height, payload.bytes.size())) {
    return false;
  }
  form_.components = static_cast<std::uint8_t>(header_.components);
  for (std::uint32_t c = 0; c < header_.components; ++c) {
    const baseline::Component& component = header_.component[c];
    // The device has the tables of the JPEG standard only (StandardJpegTables()), and no room for
    // each picture's own. Both tables of a component must have the same number.
    const std::size_t number = baseline::StandardNumber(header_.huffman[0][component.dc], false);
    if (number == baseline::kStandardTables ||
        number != baseline::StandardNumber(header_.huffman[1][component.ac], true)) {
      return false;
    }
    form_.h[c] = component.h;
    form_.v[c] = component.v;
    form_.table[c] = static_cast<std::uint8_t>(number);
    std::copy(std::begin(header_.quant[component.quant]), std::end(header_.quant[component.quant]),
              form_.quant[c]);
  }
  return true;
}

bool JpegParts::ParsePacked(const ImagePayload& payload) {
  if (packed::ParseHeader(payload.bytes, packed_) != nullptr || packed_.width != payload.width ||
      packed_.height != payload.height || packed_.components != payload.channels) {
    return false;
  }
  form_.packed = 1;
  form_.components = static_cast<std::uint8_t>(packed_.components);
  for (std::uint32_t c = 0; c < packed_.components; ++c) {
    const packed::Component& component = packed_.component[c];
    form_.h[c] = component.h;
    form_.v[c] = component.v;
    std::copy_n(packed_.table[component.table], 64, form_.quant[c]);
  }
  return true;
}

bool JpegParts::AppendLines(const NeededLines& needed, std::vector<std::uint32_t>& words,
                            std::vector<CodedLine>& lines) {
  baseline::Segments segments(header_.scan);
  for (std::uint32_t line = needed.begin; line < needed.end; ++line) {
    for (std::uint32_t part = needed.first; part < needed.last; ++part) {
      const std::uint32_t number = line * needed.parts + part;
      const void* bytes = nullptr;
      std::size_t size = 0;
      if (form_.packed != 0) {
        const Bytes stored = packed::LineOf(payload_, packed_, number);
        if (stored.empty()) return false;
        bytes = stored.data();
        size = stored.size();
      } else {
        if (!segments.Seek(number)) return false;
        size = segments.Read(segment_);
        bytes = segment_.data();
      }
      // The device counts bits in 32 bits.
      if (size > UINT32_MAX / 8) return false;
      lines.push_back({0, number, AppendTo(words, bytes, size), static_cast<std::uint32_t>(size)});
    }
  }
  return true;
}

namespace {

// Every 16 bits that may come next lead to an entry with the code that they begin with, so that the
// device reads a code in one look-up. Many inputs share an entry (IndexOf()).
void ListCodes(const baseline::HuffmanTable& table, bool dc,
               std::uint32_t (&entries)[JpegTables::kEntries]) {
  for (std::uint32_t next = 0; next < 0x10000; ++next) {
    const baseline::HuffmanTable::Code code = table.CodeAt(std::uint64_t{next} << 48);
    const std::uint32_t run = code.symbol >> 4, bits = code.symbol & 15;
    entries[JpegTables::IndexOf(next)] =
        code.length == 0   ? JpegTables::Entry(16, 0, JpegTables::kNoCode)
        : dc               ? JpegTables::Entry(code.length, code.symbol, 1)
        : code.symbol == 0 ? JpegTables::Entry(code.length, 0, JpegTables::kEnd)
                           : JpegTables::Entry(code.length, bits, run + 1);
  }
}

// The number of units of 16 bytes, in which scratch memory is counted.
std::uint64_t Sixteens(std::uint64_t bytes) {
  return (bytes + 15) / 16;
}

// Whether a device can make that region of that picture, judged by the region alone.
bool IsPart(const Region& region, const ImagePayload& payload) {
  return !region.transpose && region.x.out > 0 && region.y.out > 0 &&
         LiesInside(region, payload.width, payload.height);
}

}  // namespace

JpegTables StandardJpegTables() {
  JpegTables tables = {};
  for (std::size_t i = 0; i < baseline::kStandardTables; ++i) {
    const baseline::StrandTable& standard =
        baseline::StandardStrandTables(i).wanted->of[baseline::kFirst];
    ListCodes(*standard.dc, true, tables.dc[i]);
    ListCodes(*standard.ac, false, tables.ac[i]);
  }
  for (std::uint32_t size = 0; size <= JpegTables::kNone; ++size) {
    for (std::uint32_t k = 0; k < 64; ++k) {
      const std::uint32_t u = kernels::kZigzag.natural[k] % 8, v = kernels::kZigzag.natural[k] / 8;
      const bool kept = size < JpegTables::kNone && (u | v) >> size == 0;
      tables.place[size][k] =
          static_cast<std::uint8_t>(kept ? (v << size) + u : JpegTables::kNowhere);
    }
  }
  return tables;
}

void JpegParcel::Clear() {
  picture_ = {};
  lines_.clear();
  words_.clear();
  scratch_ = 0;
}

std::uint32_t JpegParcel::Append(const void* bytes, std::size_t count) {
  return AppendTo(words_, bytes, count);
}

JpegAxis JpegParcel::AddAxis(const ComponentAxis& axis, std::uint32_t first, bool mirrored) {
  JpegAxis added;
  added.rule = WeightRuleOf(axis, mirrored);
  added.first = first;
  added.at = static_cast<std::uint32_t>(scratch_);
  scratch_ += Sixteens(std::uint64_t{axis.out} * (1 + added.rule.taps) * sizeof(std::uint16_t));
  return added;
}

void JpegParcel::AddPlane(std::size_t number, std::uint64_t samples) {
  JpegComponent& component = picture_.component[number];
  component.coefficients = static_cast<std::uint32_t>(scratch_);
  scratch_ += Sixteens(samples * sizeof(std::int16_t));
  component.samples = static_cast<std::uint32_t>(scratch_);
  scratch_ += Sixteens(samples);
}

void JpegParcel::AddAxes(std::size_t number, const ComponentAxis& x, std::uint32_t left,
                         const ComponentAxis& y, std::uint32_t top, bool mirrored) {
  JpegComponent& component = picture_.component[number];
  x_[number] = x;
  y_[number] = y;
  const JpegComponent& cb = picture_.component[1];
  // Cb and Cr nearly always have the same size; then the weights of Cb serve both.
  if (number == 2 && x == x_[1] && y == y_[1] && cb.x.first == x.first - left &&
      cb.y.first == y.first - top) {
    component.x = cb.x;
    component.y = cb.y;
    component.x.shared = component.y.shared = true;
    return;
  }
  component.x = AddAxis(x, x.first - left, mirrored);
  component.y = AddAxis(y, y.first - top, false);
}

void JpegParcel::AddComponent(const JpegForm& form, std::size_t number,
                              const baseline::ComponentWindow& part, bool weighted, bool mirrored) {
  JpegComponent& component = picture_.component[number];
  component.across = form.h[number];
  component.down = form.v[number];
  component.size_log2 = part.size_log2;
  component.table = form.table[number];
  component.quant = Append(form.quant[number], sizeof(form.quant[number]));
  AddPlane(number, std::uint64_t{part.width} * part.height);
  if (weighted) AddAxes(number, part.x, part.left, part.y, part.top, mirrored);
}

// Fills in everything but the lines.
bool JpegParcel::PlaceWindow(const baseline::Header& header, const JpegForm& form,
                             const Region& region, std::uint32_t channels) {
  const baseline::McuWindow window(header, region, DecodePolicy());
  picture_.components = header.components;
  picture_.parts = form.parts;
  picture_.part_mcus = header.mcus_across / form.parts;
  picture_.left = window.left;
  picture_.top = window.top;
  picture_.right = window.right;
  picture_.bottom = window.bottom;
  picture_.flip_y = region.flip_y;
  for (std::uint32_t c = 0; c < header.components; ++c)
    AddComponent(form, c, window.component[c], c < channels, region.flip);
  return scratch_ <= UINT32_MAX;
}

bool JpegParcel::Make(const ImagePayload& payload, const Region& region, std::uint32_t channels) {
  Clear();
  if (channels != 1 && channels != 3) return false;
  if (region.bordered() || !IsPart(region, payload) || !parts_.Parse(payload)) return false;
  const JpegForm& form = parts_.form();
  if (form.packed != 0) return MakePacked(nullptr, parts_.packed_header(), form, region, channels);
  return PlaceWindow(parts_.header(), form, region, channels) &&
         parts_.AppendLines(PartsInWindow(), words_, lines_);
}

bool JpegParcel::Make(const StoredPicture& stored, const ImagePayload& payload,
                      const Region& region, std::uint32_t channels) {
  Clear();
  if ((channels != 1 && channels != 3) || !IsPart(region, payload)) return false;
  // The picture was taken apart before, so its payload is not parsed again: its size and its
  // sampling factors are enough to derive the header's other numbers.
  picture_.stored = stored.at;
  if (stored.form == nullptr) return payload.channels == channels && MakeRaw(payload, region);
  if (region.bordered()) return false;
  const JpegForm& form = *stored.form;
  if (form.packed != 0) {
    stored_packed_.width = payload.width;
    stored_packed_.height = payload.height;
    stored_packed_.components = form.components;
    stored_packed_.component[0].h = form.h[0];
    stored_packed_.component[0].v = form.v[0];
    packed::LayOut(stored_packed_);
    return MakePacked(&stored, stored_packed_, form, region, channels);
  }
  stored_.width = payload.width;
  stored_.height = payload.height;
  stored_.components = form.components;
  for (std::uint32_t c = 0; c < form.components; ++c) {
    stored_.component[c].h = form.h[c];
    stored_.component[c].v = form.v[c];
  }
  baseline::DeriveSizes(stored_);
  if (!PlaceWindow(stored_, form, region, channels)) return false;
  AddStoredLines(stored, PartsInWindow());
  return true;
}

NeededLines JpegParcel::PartsInWindow() const noexcept {
  return {picture_.top, picture_.bottom, picture_.left / picture_.part_mcus,
          (picture_.right - 1) / picture_.part_mcus + 1, picture_.parts};
}

// Lines before the region are walked through as well, because only the sum of their lengths says
// where a line begins.
void JpegParcel::AddStoredLines(const StoredPicture& stored, const NeededLines& needed) {
  std::uint32_t at = 0, number = 0;
  for (std::uint32_t line = 0; line < needed.end; ++line) {
    for (std::uint32_t part = 0; part < needed.parts; ++part, ++number) {
      const std::uint32_t bytes = stored.line_bytes[number];
      if (line >= needed.begin && part >= needed.first && part < needed.last)
        lines_.push_back({0, number, at, bytes});
      at += (bytes + 3) / 4;
    }
  }
}

bool JpegParcel::MakeRaw(const ImagePayload& payload, const Region& region) {
  RawPicture& raw = picture_.raw;
  picture_.components = payload.channels;
  picture_.flip_y = region.flip_y;
  raw.width = payload.width;
  // `at` counts from the edge where the region begins, which mirroring moves to the other side.
  raw.left = region.flip ? region.x.target - region.x.at - region.x.out : region.x.at;
  raw.top = region.flip_y ? region.y.target - region.y.at - region.y.out : region.y.at;
  raw.columns = region.x.out;
  raw.lines = region.y.out;
  raw.flip = region.flip;
  raw.reflect = region.reflect;
  std::copy(region.fill.begin(), region.fill.end(), raw.fill);
  if (CopiesPixels(region.x) && CopiesPixels(region.y)) {
    raw.x.first = static_cast<std::uint32_t>(region.x.start);
    raw.y.first = static_cast<std::uint32_t>(region.y.start);
    return true;
  }
  const ComponentAxis x =
      AxisOfPart(region.x, 1, region.x.bound, region.x.bound_length, region.filter);
  const ComponentAxis y =
      AxisOfPart(region.y, 1, region.y.bound, region.y.bound_length, region.filter);
  raw.x = AddAxis(x, region.x.bound + x.first, region.flip);
  raw.y = AddAxis(y, region.y.bound + y.first, false);
  return true;
}

void JpegParcel::CopyToJob(std::uint32_t number, std::uint32_t at, JpegPicture& picture,
                           std::span<CodedLine> lines) const noexcept {
  picture = picture_;
  for (JpegComponent& component : picture.component)
    component.quant += at;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    lines[i] = lines_[i];
    lines[i].picture = number;
    // Lines of a stored picture are counted from the picture's own start, not from the job's words.
    if (picture.stored == nullptr) lines[i].at += at;
  }
}

// The part of JpegParcel for packed pictures.

void JpegParcel::AddBlocks(const JpegForm& form, std::size_t number,
                           const packed::BlockWindow& window, std::uint32_t line_blocks,
                           bool mirrored) {
  JpegComponent& component = picture_.component[number];
  component.across = window.right - window.left;
  component.down = window.bottom - window.top;
  component.size_log2 = window.size_log2;
  component.line_blocks = line_blocks;
  component.first_block = window.left;
  component.quant = Append(form.quant[number], sizeof(form.quant[number]));
  AddPlane(number, (std::uint64_t{component.across} * component.down) << 2 * window.size_log2);
  AddAxes(number, window.x, window.left << window.size_log2, window.y,
          window.top << window.size_log2, mirrored);
}

// `stored` says where the lines lie; if it is null, parts_ has them.
bool JpegParcel::MakePacked(const StoredPicture* stored, const packed::Header& header,
                            const JpegForm& form, const Region& region, std::uint32_t channels) {
  picture_.packed = true;
  picture_.components = channels == 1 ? 1 : header.components;
  picture_.right = picture_.bottom = 1;
  picture_.flip_y = region.flip_y;
  for (std::uint32_t c = 0; c < picture_.components; ++c) {
    const packed::Component& of = header.component[c];
    const packed::BlockWindow window = packed::WindowOf(header, c, region, DecodePolicy());
    AddBlocks(form, c, window, of.across, region.flip);
    const NeededLines needed{of.first_line + window.top, of.first_line + window.bottom};
    if (stored != nullptr) {
      AddStoredLines(*stored, needed);
    } else if (!parts_.AppendLines(needed, words_, lines_)) {
      return false;
    }
  }
  for (std::size_t i = 0; i < lines_.size(); ++i)
    lines_[i].number = static_cast<std::uint32_t>(i);  // among those that are needed
  return scratch_ <= UINT32_MAX;
}

}  // namespace sluice
