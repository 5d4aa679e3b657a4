#include "tests/interruption/file_record.h"

#include <cstring>
#include <stdexcept>

#include "tests/file_content.h"

namespace sluice::test {

std::vector<RecordedCall> ReadRecord(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) throw std::runtime_error("no record " + path.string());
  const std::string text = ContentOf(path);
  std::vector<RecordedCall> calls;
  std::size_t at = 0;
  const auto number = [&](std::uint64_t& value) {
    if (text.size() - at < sizeof value) return false;
    std::memcpy(&value, text.data() + at, sizeof value);
    at += sizeof value;
    return true;
  };
  const auto string = [&](std::string& value) {
    std::uint64_t size = 0;
    if (!number(size) || text.size() - at < size) return false;
    value = text.substr(at, size);
    at += size;
    return true;
  };
  while (at < text.size()) {
    RecordedCall call;
    std::uint64_t kind = 0;
    if (!number(kind) || !string(call.path) || !string(call.to) || !number(call.offset) ||
        !string(call.data)) {
      break;
    }
    call.call = static_cast<FileCall>(kind);
    calls.push_back(std::move(call));
  }
  return calls;
}

}  // namespace sluice::test
