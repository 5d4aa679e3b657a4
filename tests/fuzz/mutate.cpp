#include "tests/fuzz/mutate.h"

#include <algorithm>
#include <string>

namespace sluice::fuzz {

namespace {

constexpr std::size_t kMaxInputBytes = 1 << 16;

void SetWord(Input& input, std::size_t at, RandomStream& random) {
  static constexpr std::uint64_t kSpecial[] = {
      0,          1,          0x7F, 0x80, 0xFF, 0x7FFF,     0xFFFF,
      0x7FFFFFFF, 0xFFFFFFFF, 4095, 4096, 64,   UINT64_MAX, UINT64_MAX - 4095};
  const std::size_t size = std::min(std::size_t{1} << random.Below(4), input.size() - at);
  std::uint64_t value = kSpecial[random.Below(std::size(kSpecial))];
  if (random.Below(4) == 0) {  // close to the old value
    value = 0;
    std::memcpy(&value, input.data() + at, size);
    value += random.Below(9) - 4;
  }
  std::memcpy(input.data() + at, &value, size);
}

void MutateOnce(Input& input, const Input& other, RandomStream& random) {
  if (input.empty()) input.push_back(std::byte{0});
  const std::size_t at = random.Below(input.size());
  const auto position = input.begin() + static_cast<std::ptrdiff_t>(at);
  const std::size_t run = std::min<std::size_t>(random.Below(32) + 1, input.size() - at);
  const auto run_end = position + static_cast<std::ptrdiff_t>(run);
  switch (random.Below(8)) {
    case 0:
    case 1: input[at] ^= static_cast<std::byte>(1U << random.Below(8)); return;
    case 2: input[at] = static_cast<std::byte>(random.Below(256)); return;
    case 3:
    case 4: SetWord(input, at, random); return;
    case 5: input.erase(position, run_end); return;
    case 6: {
      if (input.size() + run > kMaxInputBytes) return;
      const Input copy(position, run_end);
      input.insert(position, copy.begin(), copy.end());
      return;
    }
    default: {
      if (other.empty()) return;
      const std::size_t from = random.Below(other.size());
      const std::size_t count = std::min(run, other.size() - from);
      std::copy_n(other.begin() + static_cast<std::ptrdiff_t>(from), count, position);
      return;
    }
  }
}

}  // namespace

void Mutate(Input& input, const Input& other, RandomStream& random) {
  for (std::uint64_t left = random.Below(4) + 1; left > 0; --left) {
    MutateOnce(input, other, random);
  }
}

namespace {

constexpr std::size_t kOptionBytes = 2;
constexpr std::size_t kHeadBytes = 8;
constexpr std::size_t kMaxBytes = 1 << 16;

std::uint32_t BigAt(const Input& file, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i)
    value = value << 8 | std::to_integer<std::uint32_t>(file[at + i]);
  return value;
}

void StoreBig(Input& file, std::size_t at, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i)
    file[at + i] = static_cast<std::byte>(value >> (24 - 8 * i));
}

struct Box {
  std::string type;
  std::size_t begin, end;
  std::vector<std::size_t> around;  // the beginnings of the boxes around it
};

// Finds the boxes in the bytes from `begin` to `end`, and the boxes inside these.
void FindBoxes(const Input& file, std::size_t begin, std::size_t end,
               const std::vector<std::size_t>& around, std::vector<Box>& boxes) {
  static constexpr std::string_view kHoldBoxes = "iprp ipco moov trak mdia minf stbl dinf jp2h ";
  // Boxes that have 4 bytes of version and flags before the boxes inside.
  static constexpr std::string_view kAfterVersion = "meta iref ";
  while (end - begin >= kHeadBytes && boxes.size() < 200) {
    const std::size_t size = BigAt(file, begin) == 0 ? end - begin : BigAt(file, begin);
    if (size < kHeadBytes || size > end - begin) return;
    const auto text = AsText(Bytes(file).subspan(begin + 4, 4));
    const Box box{std::string(text), begin, begin + size, around};
    boxes.push_back(box);
    std::vector<std::size_t> inner = around;
    inner.push_back(begin);
    if (kHoldBoxes.find(box.type + " ") != std::string_view::npos)
      FindBoxes(file, begin + kHeadBytes, box.end, inner, boxes);
    else if (kAfterVersion.find(box.type + " ") != std::string_view::npos && size >= 12)
      FindBoxes(file, begin + 12, box.end, inner, boxes);
    begin = box.end;
  }
}

// Corrects the places of items for a change of the file's size before `at`: adds `by`, that change,
// to each number in 'iloc' that may be the place of an item after `at`.
void MoveItems(Input& file, const Box& iloc, std::size_t at, std::size_t by) {
  for (std::size_t i = iloc.begin + kHeadBytes; i + 4 <= iloc.end; ++i) {
    const std::uint32_t place = BigAt(file, i);
    if (place + kOptionBytes < at || place + kOptionBytes >= file.size()) continue;
    StoreBig(file, i, place + static_cast<std::uint32_t>(by));
    i += 3;
  }
}

// Replaces the bytes from `begin` to `end` by `with`, and corrects the sizes of the boxes around
// them and the places of later items. `around`: the beginnings of these boxes.
void Replace(Input& file, const std::vector<Box>& boxes, const std::vector<std::size_t>& around,
             std::size_t begin, std::size_t end, const Input& with) {
  const std::size_t by = with.size() - (end - begin);  // modulo 2^64, like all sums here
  for (const std::size_t box : around) {
    if (BigAt(file, box) != 0)
      StoreBig(file, box, BigAt(file, box) + static_cast<std::uint32_t>(by));
  }
  for (const Box& box : boxes) {
    if (box.type == "iloc") MoveItems(file, box, end, by);
  }
  const auto at = [&file](std::size_t i) { return file.begin() + static_cast<std::ptrdiff_t>(i); };
  file.erase(at(begin), at(end));
  file.insert(at(begin), with.begin(), with.end());
}

// Puts the box into up to `times` boxes of its own type, one inside another.
Input Within(const Input& box, std::uint64_t times) {
  Input whole = box;
  for (; times > 0 && whole.size() < kMaxBytes / 2; --times) {
    Input head(box.begin(), box.begin() + kHeadBytes);
    StoreBig(head, 0, static_cast<std::uint32_t>(whole.size() + kHeadBytes));
    whole.insert(whole.begin(), head.begin(), head.end());
  }
  return whole;
}

void ChangeBox(Input& file, const Input& other, const std::vector<Box>& boxes, const Box& box,
               RandomStream& random) {
  const auto at = [&file](std::size_t i) { return file.begin() + static_cast<std::ptrdiff_t>(i); };
  const Input whole(at(box.begin), at(box.end));
  const std::size_t content = box.begin + kHeadBytes;
  std::vector<std::size_t> around = box.around;
  switch (random.Below(8)) {
    case 0: return Replace(file, boxes, around, box.end, box.end, whole);
    case 1: return Replace(file, boxes, around, box.begin, box.end, {});
    case 2:
      return Replace(file, boxes, around, box.begin, box.end,
                     Within(whole, std::uint64_t{1} << random.Below(13)));
    case 3: {  // longer or shorter
      around.push_back(box.begin);
      const std::size_t from = content + random.Below(box.end - content + 1);
      if (random.Below(2) == 0)
        return Replace(file, boxes, around, from, from, Input(random.Below(40), std::byte{}));
      const std::size_t less = random.Below(std::min<std::size_t>(box.end - from, 16) + 1);
      return Replace(file, boxes, around, from, from + less, {});
    }
    case 4: {  // a number close to the old one, or a special one
      if (box.end - content < 4) return;
      static constexpr std::uint32_t kSpecial[] = {0,      1,       2,          255,       256,
                                                   0xFFFF, 0x10000, 0x7FFFFFFF, 0xFFFFFFFF};
      const std::size_t from = content + random.Below(box.end - content - 3);
      const std::uint32_t old = BigAt(file, from);
      return StoreBig(file, from,
                      random.Below(2) == 0 ? kSpecial[random.Below(std::size(kSpecial))]
                                           : old + static_cast<std::uint32_t>(random.Below(9)) - 4);
    }
    default: {  // any bytes, but not the box's size
      Input inside(at(content), at(box.end));
      Mutate(inside, other, random);
      inside.resize(box.end - content);
      std::copy(inside.begin(), inside.end(), at(content));
    }
  }
}

}  // namespace

void MutateBoxes(Input& input, const Input& other, RandomStream& random) {
  for (std::uint64_t left = random.Below(3) + 1; left > 0; --left) {
    std::vector<Box> boxes;
    if (input.size() > kOptionBytes) FindBoxes(input, kOptionBytes, input.size(), {}, boxes);
    if (boxes.size() < 2 || random.Below(8) == 0) {
      Mutate(input, other, random);
    } else {
      ChangeBox(input, other, boxes, boxes[random.Below(boxes.size())], random);
    }
  }
  input.resize(std::min(input.size(), kMaxBytes));
}

}  // namespace sluice::fuzz
