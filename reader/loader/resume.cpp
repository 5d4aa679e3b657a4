#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <vector>

#include <sluice/error.h>
#include <sluice/resume.h>

#include "format/disk/checksum.h"
#include "reader/order/order.h"

namespace sluice {

namespace {

constexpr std::string_view kFirstWord = "sluice-resume-1";

[[noreturn]] void RefusePoint(const std::string& what) {
  throw Error(ErrorCode::kInvalidArgument,
              "this is not a resume point (" + what +
                  "); pass the whole line that ResumePoint::Text() gave");
}

std::string CheckOf(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::uint64_t hash = Hash64(std::as_bytes(std::span(text)));
  std::string check(16, '0');
  for (auto digit = check.rbegin(); digit != check.rend(); ++digit, hash >>= 4)
    *digit = kDigits[hash & 15];
  return check;
}

std::vector<std::string_view> Words(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

// The words after the first, taken in order.
class Reading {
 public:
  explicit Reading(std::string_view text) : words_(Words(text)) {}

  std::string_view Value(std::string_view name) {
    if (next_ == words_.size()) RefusePoint("\"" + std::string(name) + "\" is missing");
    const std::string_view word = words_[next_++];
    if (word.substr(0, name.size()) != name || word.substr(name.size(), 1) != "=") {
      RefusePoint("\"" + std::string(name) + "\" is missing or out of order");
    }
    return word.substr(name.size() + 1);
  }
  std::uint64_t Number(std::string_view name) {
    const std::string_view text = Value(name);
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || text.empty()) {
      RefusePoint("\"" + std::string(name) + "\" is not a number");
    }
    return number;
  }
  bool AtEnd() const noexcept { return next_ == words_.size(); }

 private:
  std::vector<std::string_view> words_;
  std::size_t next_ = 1;
};

}  // namespace

std::string ResumePoint::Text() const {
  const std::string text =
      std::string(kFirstWord) + " dataset=" + dataset + " order=" + std::to_string(order_version) +
      " shuffle=" + std::string(NameOf(shuffle)) + " seed=" + std::to_string(seed) +
      " lanes=" + std::to_string(lanes) + " window=" + std::to_string(window_blocks) +
      " shard_ranks=" + std::to_string(shard_ranks) + " list=" + (list.empty() ? "-" : list) +
      " epoch=" + std::to_string(epoch) + " position=" + std::to_string(position);
  return text + " check=" + CheckOf(text);
}

ResumePoint ResumePoint::Parse(std::string_view text) {
  // A line read back from a file may still have its line end.
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r'))
    text.remove_suffix(1);
  if (Words(text)[0] != kFirstWord)
    RefusePoint("it does not begin with " + std::string(kFirstWord));
  const std::size_t check = text.rfind(" check=");
  if (check == std::string_view::npos || text.substr(check + 7) != CheckOf(text.substr(0, check))) {
    RefusePoint("its check value does not match: it was cut short or changed");
  }
  Reading words(text.substr(0, check));
  ResumePoint point;
  point.dataset = words.Value("dataset");
  const std::uint64_t version = words.Number("order");
  if (version > UINT32_MAX) RefusePoint("\"order\" is out of range");
  point.order_version = static_cast<std::uint32_t>(version);
  const std::optional<Shuffle> shuffle = ShuffleOf(words.Value("shuffle"));
  if (!shuffle) RefusePoint("\"shuffle\" is not known");
  point.shuffle = *shuffle;
  point.seed = words.Number("seed");
  point.lanes = words.Number("lanes");
  point.window_blocks = words.Number("window");
  point.shard_ranks = words.Number("shard_ranks");
  point.list = words.Value("list");
  if (point.list == "-") point.list.clear();
  point.epoch = words.Number("epoch");
  point.position = words.Number("position");
  if (!words.AtEnd()) RefusePoint("there is text after its end");
  return point;
}

}  // namespace sluice
