#include "writer/source/jpeg_file.h"

#include <cstring>

#include "writer/source/cut_short.h"

namespace sluice {

namespace {

// Markers by their second byte.
constexpr unsigned kEndOfImage = 0xD9;
constexpr unsigned kStartOfScan = 0xDA;

unsigned ByteAt(Bytes file, std::size_t at) noexcept {
  return std::to_integer<unsigned>(file[at]);
}

// The position of the next marker at or after `at`; the file's size if there is none. A 0xFF
// followed by a zero is data; one followed by another 0xFF is a fill byte.
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

// Tables, restart intervals, numbers of lines, further scans, application data and comments.
constexpr bool StandsBetweenScans(unsigned marker) noexcept {
  return marker == 0xC4 || marker == 0xCC || (marker >= 0xDA && marker <= 0xDD) ||
         (marker >= 0xE0 && marker <= 0xEF) || marker == 0xFE;
}

constexpr bool IsFrame(unsigned marker) noexcept {
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

// A frame that one scan can hold: sequential, of Huffman or arithmetic coding.
constexpr bool IsSequential(unsigned frame) noexcept {
  return frame == 0xC0 || frame == 0xC1 || frame == 0xC9;
}

struct End {
  std::size_t at = 0;   // end of the picture's data: the place of its end marker, there or missing
  bool marked = false;  // the end marker is there, or one that can only follow the picture
};

// The end of a file without an end marker. A zero that makes a 0xFF data is kept, and so is a
// single one at the file's end: the last coded byte. Of several, none is: chroma's usual code for
// the end of a block is two zero bits, so a zero too many would complete a picture whose last block
// is missing.
End EndOfData(Bytes file) noexcept {
  std::size_t size = WithoutZeros(file).size();
  if (size > 0 && size < file.size() && file[size - 1] == std::byte{0xFF}) ++size;
  return {file.size() - size == 1 ? file.size() : size, false};
}

End FindEnd(Bytes file) noexcept {
  unsigned components = 0;  // of a sequential frame; 0: one scan cannot hold everything
  bool scanned = false;
  bool complete = false;  // the only possible scan has been seen
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
    // A segment: its length, including the two bytes of the length, and its content.
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

}  // namespace

JpegFile TakeJpeg(std::vector<std::byte>& content) {
  const End end = FindEnd(content);
  content.resize(end.at);
  content.push_back(std::byte{0xFF});
  content.push_back(std::byte{kEndOfImage});
  return {content, end.marked};
}

}  // namespace sluice
