#include <sluice/error.h>
#include <sluice/shown_path.h>
#include <sluice/shown_text.h>

#include "format/disk/system_error.h"

namespace sluice {

namespace {
std::string Compose(const std::string& file, const std::string& place,
                    const std::string& sentence) {
  std::string text = file;
  if (!place.empty()) text += (text.empty() ? "" : ": ") + place;
  return text + (text.empty() ? "" : ": ") + sentence;
}

// what() would end at a NUL, which damaged files and texts of other encodings bring into a message.
std::string ShownNul(std::string text) {
  constexpr std::string_view kShown = "\\x00";
  for (std::size_t at = text.find('\0'); at != std::string::npos; at = text.find('\0', at))
    text.replace(at, 1, kShown);
  return text;
}

const Error kOutOfMemory(ErrorCode::kMemory,
                         "there is not enough memory; free some, or raise `ulimit -v`");

}  // namespace

const Error& OutOfMemory() noexcept {
  return kOutOfMemory;
}

bool IsShortage(const Error& error) noexcept {
  if (error.code() == ErrorCode::kMemory) return true;
  const auto* const of_system = dynamic_cast<const SystemError*>(&error);
  constexpr std::array kShortages = {EMFILE, ENFILE, ENOMEM, EAGAIN, EINTR};
  return of_system != nullptr &&
         std::find(kShortages.begin(), kShortages.end(), of_system->number()) != kShortages.end();
}

const char* ErrorCodeName(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::kInvalidArgument: return "invalid argument";
    case ErrorCode::kNotFound: return "not found";
    case ErrorCode::kIo: return "input/output";
    case ErrorCode::kCorrupt: return "corrupt";
    case ErrorCode::kUnsupported: return "unsupported";
    case ErrorCode::kUnfinished: return "unfinished";
    case ErrorCode::kExists: return "exists";
    case ErrorCode::kLimit: return "limit";
    case ErrorCode::kState: return "state";
    case ErrorCode::kMemory: return "memory";
  }
  return "unknown";
}

// The base class gets no text: copies would share it in a way that a thread checker cannot see.
// `file` may be a URL, whose password must not get into a log.
Error::Error(ErrorCode code, std::string file, std::string place, const std::string& sentence)
    : std::runtime_error(""), code_(code) {
  file = IsStoreUrl(file) ? ShownUrl(file) : ShownText(file);
  std::string shown = ShownNul(ShownText(sentence));
  std::string whole = ShownText(Compose(file, place, shown));
  text_ = std::make_shared<const Text>(
      Text{std::move(whole), std::move(file), std::move(place), std::move(shown)});
}

Error::Error(ErrorCode code, std::string file, const std::string& sentence)
    : Error(code, std::move(file), {}, sentence) {}

Error::Error(ErrorCode code, const std::string& sentence) : Error(code, {}, {}, sentence) {}

}  // namespace sluice
