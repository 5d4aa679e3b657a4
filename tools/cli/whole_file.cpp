#include "tools/cli/whole_file.h"

#include <cerrno>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include <sluice/error.h>

namespace sluice::cli {

namespace {

void WriteInto(int file, std::string_view text, const std::filesystem::path& path) {
  while (file >= 0 && !text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno != EINTR) break;
    if (written > 0) text.remove_prefix(static_cast<std::size_t>(written));
  }
  int error = text.empty() && file >= 0 ? 0 : errno;
  if (file >= 0 && close(file) != 0 && error == 0) error = errno;
  if (error == 0) return;
  throw Error(ErrorCode::kIo, path.string(),
              "cannot be written: " + std::generic_category().message(error));
}

// A new file beside `target`, under a name that no file has.
int NewFileBeside(const std::filesystem::path& target, std::filesystem::path& name) {
  for (int number = 0;; ++number) {
    name = target.parent_path() / ("." + target.filename().string() + "." +
                                   std::to_string(getpid()) + "-" + std::to_string(number));
    const int file = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) return file;
  }
}

}  // namespace

void WriteWholeFile(const std::filesystem::path& path, std::string_view text) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) {  // a pipe, /dev/stdout
    WriteInto(open(path.c_str(), O_WRONLY | O_CLOEXEC), text, path);
    return;
  }
  const fs::path target = fs::exists(status) ? fs::canonical(path) : path;
  fs::path temporary;
  const int file = NewFileBeside(target, temporary);
  try {
    WriteInto(file, text, path);
    fs::rename(temporary, target, error);
    if (error) throw Error(ErrorCode::kIo, path.string(), "cannot be written: " + error.message());
  } catch (const Error&) {
    if (file >= 0) fs::remove(temporary, error);
    throw;
  }
}

}  // namespace sluice::cli
