#include "tools/export_files.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <spng.h>
#include <unistd.h>

#include <sluice/error.h>

namespace sluice {

namespace {

void Check(int result) {
  if (result == SPNG_OK) return;
  throw Error(ErrorCode::kIo, std::string("a PNG file cannot be made: ") + spng_strerror(result));
}

}  // namespace

NewFile::NewFile(const std::filesystem::path& path) : path_(path) {
  std::error_code error;
  std::filesystem::create_directories(path.parent_path(), error);
  if (error) Fail(error.value());
  file_ = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (file_ < 0) Fail(errno);
}

NewFile::~NewFile() {
  if (file_ >= 0) close(file_);
  if (!whole_) unlink(path_.c_str());
}

void NewFile::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file_, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) Fail(errno);
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void NewFile::Close() {
  const int file = std::exchange(file_, -1);
  if (close(file) != 0) Fail(errno);
  whole_ = true;
}

void NewFile::Fail(int error) const {
  throw Error(ErrorCode::kIo, path_.string(),
              error == EEXIST ? "exists already, under a name that this file system does not tell "
                                "from it; export to a file system that does"
                              : "cannot be written: " + std::generic_category().message(error) +
                                    "; empty the export's folder before you try again");
}

std::vector<char> EncodePng(const Image& image) {
  const std::unique_ptr<spng_ctx, void (*)(spng_ctx*)> context(spng_ctx_new(SPNG_CTX_ENCODER),
                                                               &spng_ctx_free);
  if (!context) throw std::bad_alloc();
  Check(spng_set_option(context.get(), SPNG_ENCODE_TO_BUFFER, 1));
  constexpr std::uint8_t kTypes[] = {SPNG_COLOR_TYPE_GRAYSCALE, SPNG_COLOR_TYPE_GRAYSCALE_ALPHA,
                                     SPNG_COLOR_TYPE_TRUECOLOR, SPNG_COLOR_TYPE_TRUECOLOR_ALPHA};
  spng_ihdr header{};
  header.width = image.width;
  header.height = image.height;
  header.bit_depth = image.pixel_type == PixelType::kUint16 ? 16 : 8;
  header.color_type = kTypes[image.channels - 1];
  Check(spng_set_ihdr(context.get(), &header));
  Check(spng_encode_image(context.get(), image.pixels.data(), image.pixels.size(), SPNG_FMT_PNG,
                          SPNG_ENCODE_FINALIZE));
  std::size_t size = 0;
  int error = 0;
  const std::unique_ptr<void, void (*)(void*)> file(
      spng_get_png_buffer(context.get(), &size, &error), &std::free);
  Check(error);
  const auto* begin = static_cast<const char*>(file.get());
  return {begin, begin + size};
}

std::string CsvCell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string cell = "\"";
  for (const char letter : text) {
    if (letter == '"') cell += '"';
    cell += letter;
  }
  return cell + '"';
}

std::string NoFormula(const std::string& text) {
  if (text.find_first_of("=+-@\t\r\n") != 0) return text;
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? text : "'" + text;
}

std::string NamesCell(const std::vector<std::string>& names) {
  const auto is_plain = [](const std::string& name) {
    constexpr const char* kBlank = " \t\r\n";
    return !name.empty() && name.find_first_of(",;|") == std::string::npos && name[0] != '[' &&
           name.find_first_of(kBlank) != 0 && name.find_last_of(kBlank) != name.size() - 1;
  };
  // An empty cell would be none at all, and not an empty list.
  if (names.empty() || !std::all_of(names.begin(), names.end(), is_plain)) {
    return nlohmann::json(names).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  std::string text;
  for (const std::string& name : names)
    text += (text.empty() ? "" : "|") + name;
  return text;
}

}  // namespace sluice
