#include "tests/file_content.h"

#include <fstream>
#include <sstream>

namespace sluice::test {

std::string ContentOf(const std::filesystem::path& file) {
  std::ostringstream content;
  content << std::ifstream(file, std::ios::binary).rdbuf();
  return std::move(content).str();
}

}  // namespace sluice::test
