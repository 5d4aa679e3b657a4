// RequireFewItems() is called before a library gets the file. Look() descends only into the boxes
// in which such tables lie, and only so deep; it reads the counts at the tables' beginnings, never
// the entries. Counts of all boxes are added up, because a file may split a table.
// A box's size is a claim. TakeFileBox() gives only bytes that exist, and each call takes at least
// a box's head, so every walk ends.
#include "writer/source/images/iso_boxes.h"

#include <algorithm>
#include <string>

#include <sluice/error.h>

namespace sluice {

namespace {

// A picture of 178 million pixels needs about 2720 tiles of 256x256; each tile is an item.
constexpr std::uint64_t kMaxItems = 4096;
constexpr std::size_t kMaxReferenceBytes = 65'536;
constexpr unsigned kMaxNested = 4;

class ItemTables {
 public:
  explicit ItemTables(std::string_view kind) : kind_(kind) {}

  // Every table begins with a version and flags (ISO/IEC 14496-12, 8.11).
  void Look(Bytes boxes, unsigned depth) {
    constexpr std::size_t kVersionBytes = 4;
    while (const std::optional<FileBox> box = TakeFileBox(boxes)) {
      const Bytes body = box->body;
      if (body.size() < kVersionBytes) continue;
      const bool first_version = body[0] == std::byte{0};
      const auto count = [&body](std::size_t at, std::size_t size) {
        return body.size() >= at + size ? BigEndian(body, at, size) : 0;
      };
      if (box->type == "iinf") Add(count(4, first_version ? 2 : 4), "items");
      if (box->type == "ipma") Add(count(4, 4), "items with properties");
      if (box->type == "iloc") Add(count(6, body[0] < std::byte{2} ? 2 : 4), "places of items");
      if (box->type == "iref") {
        references_ += body.size();
        if (references_ > kMaxReferenceBytes) Refuse(references_, "bytes of references");
      }
      const bool holds_boxes = box->type == "iprp" || box->type == "moov" || box->type == "trak";
      if (depth == kMaxNested) continue;
      if (holds_boxes) Look(body, depth + 1);
      if (box->type == "meta") Look(body.subspan(kVersionBytes), depth + 1);
    }
  }

 private:
  void Add(std::uint64_t count, const char* what) {
    // A file may split each table into several boxes, so the counts are added up.
    entries_ += count;
    if (count > kMaxItems || entries_ > 4 * kMaxItems) Refuse(std::max(count, entries_), what);
  }

  [[noreturn]] void Refuse(std::uint64_t count, const char* what) const {
    throw Error(ErrorCode::kUnsupported, "unsupported " + std::string(kind_) + ": it has " +
                                             std::to_string(count) + " " + what +
                                             ", more than pictures have");
  }

  std::string_view kind_;
  std::uint64_t entries_ = 0;
  std::uint64_t references_ = 0;
};

}  // namespace

std::uint64_t BigEndian(Bytes bytes, std::size_t at, std::size_t size) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i)
    value = value << 8 | std::to_integer<std::uint64_t>(bytes[at + i]);
  return value;
}

std::optional<FileBox> TakeFileBox(Bytes& rest) noexcept {
  if (rest.size() < 8) return std::nullopt;
  std::uint64_t size = BigEndian(rest, 0, 4);
  std::uint64_t head = 8;
  if (size == 1) {  // the size did not fit in four bytes
    head = 16;
    if (rest.size() < head) return std::nullopt;
    size = BigEndian(rest, 8, 8);
  }
  if (size == 0 || size > rest.size()) size = rest.size();  // 0: the box extends to the end
  if (size < head) return std::nullopt;
  const FileBox box{AsText(rest.subspan(4, 4)), rest.subspan(head, size - head)};
  rest = rest.subspan(size);
  return box;
}

void RequireFewItems(Bytes file, std::string_view kind) {
  ItemTables(kind).Look(file, 0);
}

}  // namespace sluice
