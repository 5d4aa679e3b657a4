#include "tools/cli/input.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include <poll.h>
#include <unistd.h>

#include <sluice/error.h>

namespace sluice::cli {

namespace {
constexpr std::size_t kPieceBytes = 1 << 20;
constexpr int kLookMilliseconds = 100;  // how often to look for a stop request while no input comes
}  // namespace

void ReadStandardInput(const std::stop_token& stop,
                       const std::function<void(std::string_view piece)>& take) {
  std::vector<char> piece(kPieceBytes);
  for (;;) {
    if (stop.stop_requested()) {
      throw Error(ErrorCode::kState, "standard input", "could not be read to its end");
    }
    pollfd input{STDIN_FILENO, POLLIN, 0};
    const int ready = poll(&input, 1, kLookMilliseconds);
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    const ssize_t got = read(STDIN_FILENO, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      throw Error(ErrorCode::kIo, "standard input",
                  std::string("cannot be read: ") + std::strerror(errno));
    }
    if (got == 0) return;
    take({piece.data(), static_cast<std::size_t>(got)});
  }
}

}  // namespace sluice::cli
