#include "tests/fuzz/jpeg_mutate.h"

#include "tests/fuzz/jpeg_content.h"
#include "tests/fuzz/mutate.h"

namespace sluice::fuzz {

namespace {

constexpr std::size_t kMaxFileBytes = 1 << 14;  // larger files only take longer

// The second bytes of markers.
constexpr std::uint8_t kFrameMarker = 0xC0, kExtendedFrameMarker = 0xC1, kHuffmanMarker = 0xC4,
                       kScanMarker = 0xDA, kQuantisationMarker = 0xDB, kRestartMarker = 0xDD;

// A file, split into its parts up to the end of its first scan.
struct Parts {
  struct Segment {
    std::uint8_t marker = 0;
    Input body;  // without its length
  };
  std::vector<Segment> segments;  // the last one is the scan's header
  std::vector<Input> intervals;   // coded data between restart markers, without stuffed zeros
  Input rest;                     // from the marker after the scan
};

std::uint8_t ByteAt(const Input& file, std::size_t at) {
  return std::to_integer<std::uint8_t>(file[at]);
}

bool TakeApart(const Input& file, Parts& parts) {
  std::size_t at = 2;
  for (;;) {
    if (at + 4 > file.size() || ByteAt(file, at) != 0xFF) return false;
    const std::uint8_t marker = ByteAt(file, at + 1);
    const std::size_t length = std::size_t{ByteAt(file, at + 2)} << 8 | ByteAt(file, at + 3);
    if (length < 2 || at + 2 + length > file.size()) return false;
    const auto begin = file.begin() + static_cast<std::ptrdiff_t>(at + 4);
    parts.segments.push_back(
        {marker, Input(begin, begin + static_cast<std::ptrdiff_t>(length - 2))});
    at += 2 + length;
    if (marker == kScanMarker) break;
  }
  parts.intervals.emplace_back();
  for (; at < file.size(); ++at) {
    if (ByteAt(file, at) != 0xFF) {
      parts.intervals.back().push_back(file[at]);
      continue;
    }
    const int next = at + 1 < file.size() ? ByteAt(file, at + 1) : 0xD9;
    if (next != 0 && (next < 0xD0 || next > 0xD7)) break;
    if (next == 0) parts.intervals.back().push_back(file[at]);
    if (next != 0) parts.intervals.emplace_back();
    ++at;
  }
  if (at < file.size()) {
    parts.rest.assign(file.begin() + static_cast<std::ptrdiff_t>(at), file.end());
  }
  return true;
}

Input PutTogether(const Parts& parts) {
  Input file = {std::byte{0xFF}, std::byte{0xD8}};
  const auto put = [&file](std::size_t byte) { file.push_back(static_cast<std::byte>(byte)); };
  for (const Parts::Segment& segment : parts.segments) {
    const std::size_t length = segment.body.size() + 2;
    for (const std::size_t byte :
         {std::size_t{0xFF}, std::size_t{segment.marker}, length >> 8, length & 255})
      put(byte);
    file.insert(file.end(), segment.body.begin(), segment.body.end());
  }
  for (std::size_t i = 0; i < parts.intervals.size(); ++i) {
    if (i > 0) {
      put(0xFF);
      put(0xD0 + (i - 1) % 8);
    }
    for (const std::byte byte : parts.intervals[i]) {
      file.push_back(byte);
      if (byte == std::byte{0xFF}) put(0);
    }
  }
  file.insert(file.end(), parts.rest.begin(), parts.rest.end());
  return file;
}

Parts::Segment* AnySegment(Parts& parts, std::uint8_t marker, RandomStream& random) {
  std::vector<Parts::Segment*> found;
  for (Parts::Segment& segment : parts.segments) {
    if (segment.marker == marker && !segment.body.empty()) found.push_back(&segment);
  }
  return found.empty() ? nullptr : found[random.Below(found.size())];
}

void ChangeCodedData(Parts& parts, RandomStream& random) {
  Input& data = parts.intervals[random.Below(parts.intervals.size())];
  if (data.empty()) data.push_back(std::byte{0xFF});
  if (random.Below(3) != 0) {
    for (std::uint64_t left = 1 + random.Below(3); left > 0; --left)
      data[random.Below(data.size())] ^= static_cast<std::byte>(1U << random.Below(8));
    return;
  }
  Mutate(data, parts.intervals[random.Below(parts.intervals.size())], random);
}

void ChangeIntervals(Parts& parts, RandomStream& random) {
  std::vector<Input>& all = parts.intervals;
  const std::size_t at = random.Below(all.size());
  switch (random.Below(4)) {
    case 0: std::swap(all[at], all[random.Below(all.size())]); return;
    case 1:
      if (all.size() > 1) all.erase(all.begin() + static_cast<std::ptrdiff_t>(at));
      return;
    case 2: {
      const Input copy = all[at];
      all.insert(all.begin() + static_cast<std::ptrdiff_t>(random.Below(all.size() + 1)), copy);
      return;
    }
    default: all[at].push_back(static_cast<std::byte>(random.Below(256))); return;
  }
}

// Chooses a table of the segment, and returns the offset of its counts; 0 if there is no table.
// Sets `symbols` to the number of its symbols.
std::size_t AnyHuffman(const Input& body, RandomStream& random, std::size_t& symbols) {
  std::vector<std::pair<std::size_t, std::size_t>> tables;
  for (std::size_t at = 1; at + 16 <= body.size();) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < 16; ++i)
      count += ByteAt(body, at + i);
    if (at + 16 + count > body.size()) break;
    tables.emplace_back(at, count);
    at += 17 + count;
  }
  if (tables.empty()) return 0;
  const auto& [at, count] = tables[random.Below(tables.size())];
  symbols = count;
  return at;
}

void ChangeHuffman(Parts& parts, RandomStream& random) {
  Parts::Segment* const segment = AnySegment(parts, kHuffmanMarker, random);
  std::size_t symbols = 0;
  const std::size_t at = segment == nullptr ? 0 : AnyHuffman(segment->body, random, symbols);
  if (at == 0 || symbols == 0) return;
  Input& body = segment->body;
  const auto add = [&body](std::size_t i, int by) {
    body[i] = static_cast<std::byte>(std::to_integer<int>(body[i]) + by);
  };
  const std::size_t first = at + 16;
  const std::size_t which = first + random.Below(symbols);
  const auto position = body.begin() + static_cast<std::ptrdiff_t>(which);
  switch (random.Below(6)) {
    case 0: std::swap(body[which], body[first + random.Below(symbols)]); return;
    case 1: body[which] ^= static_cast<std::byte>(1U << random.Below(8)); return;
    case 2:  // one code gets a different length
    case 3: {
      const std::size_t from = at + random.Below(16);
      if (ByteAt(body, from) == 0) return;
      add(from, -1);
      add(at + random.Below(16), 1);
      return;
    }
    case 4:  // one code less
      for (std::size_t i = at + random.Below(16); i < first; ++i) {
        if (ByteAt(body, i) == 0) continue;
        add(i, -1);
        body.erase(position);
        return;
      }
      return;
    default:  // one code more
      if (symbols >= 255) return;
      add(at + random.Below(16), 1);
      body.insert(position, static_cast<std::byte>(random.Below(256)));
      return;
  }
}

void ChangeQuantisation(Parts& parts, RandomStream& random) {
  Parts::Segment* const segment = AnySegment(parts, kQuantisationMarker, random);
  if (segment == nullptr) return;
  Input& body = segment->body;
  static constexpr std::uint8_t kSpecial[] = {0, 1, 2, 16, 127, 128, 254, 255};
  const auto value =
      static_cast<std::byte>(random.Below(2) == 0 ? kSpecial[random.Below(8)] : random.Below(256));
  if (random.Below(4) == 0) {
    for (std::size_t i = 1; i < std::min<std::size_t>(body.size(), 65); ++i)
      body[i] = value;
    return;
  }
  body[random.Below(body.size())] = value;
}

void ChangeRestarts(Parts& parts, RandomStream& random) {
  Parts::Segment* segment = AnySegment(parts, kRestartMarker, random);
  if (segment == nullptr) {
    parts.segments.insert(parts.segments.end() - 1, {kRestartMarker, Input(2)});
    segment = &parts.segments[parts.segments.size() - 2];
  }
  segment->body.resize(2);
  segment->body[1] = static_cast<std::byte>(random.Below(16));
  segment->body[0] = static_cast<std::byte>(random.Below(8) == 0 ? random.Below(256) : 0);
}

// Changes the frame (a size, sampling factors or any bit), or a bit of the scan's header.
void ChangeFrame(Parts& parts, RandomStream& random) {
  if (random.Below(3) == 0) {
    Input& body = parts.segments.back().body;
    if (!body.empty()) {
      body[random.Below(body.size())] ^= static_cast<std::byte>(1U << random.Below(8));
    }
    return;
  }
  Parts::Segment* const segment =
      AnySegment(parts, random.Below(8) == 0 ? kExtendedFrameMarker : kFrameMarker, random);
  if (segment == nullptr || segment->body.size() < 6) return;
  if (random.Below(16) == 0) segment->marker ^= 1;
  Input& body = segment->body;
  switch (random.Below(3)) {
    case 0:
      body[random.Below(2) == 0 ? 2 : 4] = static_cast<std::byte>(1 + random.Below(64));
      return;
    case 1: {  // a component's sampling, luma's most of the time
      static constexpr std::uint8_t kSampling[] = {0x11, 0x12, 0x21, 0x22, 0x41, 0x14, 0x00};
      const std::size_t at = 7 + 3 * (random.Below(4) == 0 ? random.Below(3) : 0);
      if (at < body.size()) body[at] = static_cast<std::byte>(kSampling[random.Below(7)]);
      return;
    }
    default: body[random.Below(body.size())] ^= static_cast<std::byte>(1U << random.Below(8));
  }
}

// Doubles, removes, moves or inserts a whole segment, or changes its bytes.
void ChangeSegments(Parts& parts, const Input& other, RandomStream& random) {
  std::vector<Parts::Segment>& all = parts.segments;
  const std::size_t at = random.Below(all.size());
  switch (random.Below(5)) {
    case 0: {
      const Parts::Segment copy = all[at];
      all.insert(all.begin() + static_cast<std::ptrdiff_t>(random.Below(all.size())), copy);
      return;
    }
    case 1:
      if (at + 1 < all.size()) all.erase(all.begin() + static_cast<std::ptrdiff_t>(at));
      return;
    case 2: std::swap(all[at], all[random.Below(all.size())]); return;
    case 3: {
      Parts more;
      if (!TakeApart(other, more)) return;
      all.insert(all.begin() + static_cast<std::ptrdiff_t>(at),
                 more.segments[random.Below(more.segments.size())]);
      return;
    }
    default:
      if (!all[at].body.empty()) Mutate(all[at].body, other, random);
  }
}

void MutatePartsOnce(Parts& parts, const Input& other, RandomStream& random) {
  switch (random.Below(12)) {
    case 0: ChangeIntervals(parts, random); return;
    case 1:
    case 2: ChangeHuffman(parts, random); return;
    case 3: ChangeQuantisation(parts, random); return;
    case 4: ChangeRestarts(parts, random); return;
    case 5: ChangeFrame(parts, random); return;
    case 6: ChangeSegments(parts, other, random); return;
    default: ChangeCodedData(parts, random); return;
  }
}

bool MutateContent(Input& input, RandomStream& random) {
  JpegContent content;
  if (!ReadContent(input, content)) return false;
  for (std::uint64_t left = random.Below(3); left > 0; --left)
    ChangeContent(content, random);
  const Input changed = WriteContent(content, AnyCoding(random));
  if (changed.size() > kMaxFileBytes) return false;
  input = changed;
  return true;
}

}  // namespace

void MutateJpeg(Input& input, const Input& other, RandomStream& random) {
  if (random.Below(3) == 0 && MutateContent(input, random) && random.Below(2) == 0) return;
  Parts parts;
  if (random.Below(16) == 0 || !TakeApart(input, parts)) {
    Mutate(input, other, random);
    return;
  }
  for (std::uint64_t left = random.Below(3) + 1; left > 0; --left)
    MutatePartsOnce(parts, other, random);
  input = PutTogether(parts);
}

}  // namespace sluice::fuzz
