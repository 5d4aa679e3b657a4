#include "tools/cli/input.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include <poll.h>
#include <unistd.h>

#include <sluice/error.h>

#include "tools/cli/output.h"

namespace sluice::cli {

namespace {
constexpr std::size_t kPieceBytes = 1 << 20;
constexpr int kLookMilliseconds = 100;  // how often to look for a stop request while no input comes

// Waits for input. Returns how many bytes came; 0 at the end.
std::size_t ReadPiece(const std::stop_token& stop, std::span<char> piece) {
  for (;;) {
    if (stop.stop_requested()) {
      throw Error(ErrorCode::kState, "standard input", "could not be read to its end");
    }
    pollfd input{STDIN_FILENO, POLLIN, 0};
    const int ready = poll(&input, 1, kLookMilliseconds);
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    const ssize_t got = read(STDIN_FILENO, piece.data(), piece.size());
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno == EINTR) continue;
    throw Error(ErrorCode::kIo, "standard input",
                std::string("cannot be read: ") + std::strerror(errno));
  }
}
}  // namespace

void ReadStandardInput(const std::stop_token& stop,
                       const std::function<void(std::string_view piece)>& take) {
  std::vector<char> piece(kPieceBytes);
  while (const std::size_t got = ReadPiece(stop, piece))
    take({piece.data(), got});
}

bool CanAsk() {
  return isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1;
}

bool Ask(const std::string& question, const std::stop_token& stop) {
  std::fprintf(stderr, "%s [y/N] ", Printable(question).c_str());
  std::fflush(stderr);
  std::array<char, 256> line{};  // a terminal hands over whole lines
  const std::size_t got = ReadPiece(stop, line);
  std::string answer(line.data(), got);
  answer.resize(std::min(answer.find_last_not_of(" \t\r\n") + 1, answer.size()));
  return answer == "y" || answer == "Y" || answer == "yes";
}

}  // namespace sluice::cli
