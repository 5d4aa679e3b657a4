// First bytes, each from the format's own specification.
#include "writer/source/sniff.h"

#include "tests/catch.h"

namespace sluice::test {

using namespace std::string_view_literals;

namespace {
Sniffed Of(std::string_view text) {
  return Sniff(AsBytes(text));
}
}  // namespace

TEST_CASE("JPEG and PNG are known by their first bytes") {
  CHECK(Of("\xff\xd8\xff\xe0\0\x10JFIF"sv).kind == ImageKind::kJpeg);
  CHECK(Of("\xff\xd8\xff\xdb"sv).kind == ImageKind::kJpeg);
  CHECK(Of("\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR"sv).kind == ImageKind::kPng);
  // What a text-mode transfer makes of one is a broken PNG, not a file that is no image.
  CHECK(Of("\x89PNG\n\x1a\n\0\0\0\x0dIHDR"sv).kind == ImageKind::kPng);
}

TEST_CASE("images of kinds that are not converted are known by name") {
  const auto name = [](std::string_view text) {
    const Sniffed sniffed = Of(text);
    return sniffed.kind == ImageKind::kUnsupported ? std::string(sniffed.name) : "";
  };
  CHECK(name("GIF89a\1\0\1\0"sv) == "GIF");
  CHECK(name("BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\2\0\0\0\2\0\0\0"sv) == "BMP");
  CHECK(name("II*\0\x08\0\0\0"sv) == "TIFF");
  CHECK(name("MM\0*\0\0\0\x08"sv) == "TIFF");
  CHECK(name("RIFF\x24\0\0\0WEBPVP8 "sv) == "WebP");
  CHECK(name("\0\0\0\x18"
             "ftypheic\0\0\0\0mif1heic"sv) == "HEIF");
  CHECK(name("\0\0\0\x1c"
             "ftypavif\0\0\0\0avifmif1"sv) == "AVIF");
  CHECK(name("\0\0\0\x0cJXL \x0d\x0a\x87\x0a"sv) == "JPEG XL");
  CHECK(name("\0\0\0\x0cjP  \x0d\x0a\x87\x0a"sv) == "JPEG 2000");
}

TEST_CASE("anything else is no image, a text that begins like a bitmap included") {
  for (const std::string_view text :
       {""sv, "\xff\xd8"sv, "hello"sv, "BM is a place near the sea, and more"sv,
        "RIFF\0\0\0\0WAVE"sv,
        "\0\0\0\x18"
        "ftypmp42"sv,
        "%PDF-1.7"sv, "{\"a\":1}"sv}) {
    CHECK(Of(text).kind == ImageKind::kNone);
  }
}

}  // namespace sluice::test
