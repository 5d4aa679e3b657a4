#include "format/remote/range_answer.h"

#include <cerrno>
#include <charconv>

namespace sluice {

namespace {

Verdict WrongRange(Verdict::Kind kind, ErrorCode code, int number, std::string sentence) {
  Verdict verdict;
  verdict.kind = kind;
  verdict.code = code;
  verdict.number = number;
  verdict.sentence = std::move(sentence);
  return verdict;
}

// Takes a number from the front; nothing if there is none, or one that is too large.
std::optional<std::uint64_t> TakeNumber(std::string_view& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

}  // namespace

std::optional<ContentRange> ParseContentRange(std::string_view text) {
  constexpr std::string_view kUnit = "bytes ";
  if (!text.starts_with(kUnit)) return std::nullopt;
  text.remove_prefix(kUnit.size());
  ContentRange range;
  const auto first = TakeNumber(text);
  if (!first || !text.starts_with('-')) return std::nullopt;
  text.remove_prefix(1);
  const auto last = TakeNumber(text);
  if (!last || !text.starts_with('/') || *last < *first) return std::nullopt;
  text.remove_prefix(1);
  range.first = *first;
  range.last = *last;
  if (text == "*") return range;
  range.total = TakeNumber(text);
  if (!range.total || !text.empty() || *range.total <= *last) return std::nullopt;
  return range;
}

Verdict JudgeRangeAnswer(const HttpReply& reply, const WantedRange& wanted) {
  using Kind = Verdict::Kind;
  if (!wanted.etag.empty() && !reply.etag.empty() && reply.etag != wanted.etag) {
    return WrongRange(Kind::kFinal, ErrorCode::kIo, ESTALE,
                      "was replaced since it was opened; open the dataset again, and do not write "
                      "over one in use");
  }
  const std::uint64_t end = wanted.offset + wanted.bytes;
  if (reply.status == 200) {
    // The whole object: right if that is what was wanted.
    if (wanted.offset == 0 && reply.length == wanted.bytes) return {};
    if (reply.length && *reply.length < end) {
      return WrongRange(Kind::kFinal, ErrorCode::kCorrupt, 0,
                        "has " + std::to_string(*reply.length) + " bytes, but bytes up to " +
                            std::to_string(end) + " are wanted; it was cut short or replaced");
    }
    return WrongRange(
        Kind::kFinal, ErrorCode::kUnsupported, 0,
        "its server sends whole files when it is asked for a part; datasets need one that knows "
        "range requests (nginx and object storage do)");
  }
  const auto range = ParseContentRange(reply.content_range);
  if (!range) {
    return WrongRange(
        Kind::kAgain, ErrorCode::kIo, EPROTO,
        "the answer does not say which bytes it has (Content-Range is missing or wrong)");
  }
  if (range->total && *range->total < end) {
    return WrongRange(Kind::kFinal, ErrorCode::kCorrupt, 0,
                      "has " + std::to_string(*range->total) + " bytes, but bytes up to " +
                          std::to_string(end) + " are wanted; it was cut short or replaced");
  }
  if (range->first != wanted.offset || range->last != end - 1 ||
      (reply.length && *reply.length != wanted.bytes)) {
    return WrongRange(Kind::kAgain, ErrorCode::kIo, EPROTO,
                      "the server sent other bytes than those asked for");
  }
  return {};
}

}  // namespace sluice
