#include <sluice/error.h>

namespace sluice {

namespace {
std::string Compose(const std::string& file, const std::string& place,
                    const std::string& sentence) {
  std::string text = file;
  if (!place.empty()) text += (text.empty() ? "" : ": ") + place;
  return text + (text.empty() ? "" : ": ") + sentence;
}
}  // namespace

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
  }
  return "unknown";
}

Error::Error(ErrorCode code, std::string file, std::string place, const std::string& sentence)
    : std::runtime_error(Compose(file, place, sentence)),
      code_(code),
      file_(std::move(file)),
      place_(std::move(place)),
      sentence_(sentence) {}

Error::Error(ErrorCode code, std::string file, const std::string& sentence)
    : Error(code, std::move(file), {}, sentence) {}

Error::Error(ErrorCode code, const std::string& sentence) : Error(code, {}, {}, sentence) {}

}  // namespace sluice
