// Recognising a file's kind by its first bytes. Each example is from the format's specification.
#include "writer/source/images/sniff.h"

#include "tests/catch.h"
#include "writer/source/images/image_kinds.h"

namespace sluice::test {

using namespace std::string_view_literals;

namespace {
Sniffed SniffText(std::string_view text) {
  return Sniff(AsBytes(text));
}
}  // namespace

TEST_CASE("JPEG and PNG are recognised by their first bytes") {
  CHECK(SniffText("\xff\xd8\xff\xe0\0\x10JFIF"sv).kind == ImageKind::kJpeg);
  CHECK(SniffText("\xff\xd8\xff\xdb"sv).kind == ImageKind::kJpeg);
  CHECK(SniffText("\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR"sv).kind == ImageKind::kPng);
  // A PNG after a text-mode transfer is a broken PNG, not "no image".
  CHECK(SniffText("\x89PNG\n\x1a\n\0\0\0\x0dIHDR"sv).kind == ImageKind::kPng);
}

TEST_CASE("WebP, GIF, BMP and TIFF are recognised by their first bytes") {
  CHECK(SniffText("GIF87a\1\0\1\0"sv).kind == ImageKind::kGif);
  CHECK(SniffText("GIF89a\1\0\1\0"sv).kind == ImageKind::kGif);
  CHECK(SniffText("BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\2\0\0\0\2\0\0\0"sv).kind ==
        ImageKind::kBmp);
  CHECK(SniffText("II*\0\x08\0\0\0"sv).kind == ImageKind::kTiff);
  CHECK(SniffText("MM\0*\0\0\0\x08"sv).kind == ImageKind::kTiff);
  CHECK(SniffText("II+\0\x08\0\0\0"sv).kind == ImageKind::kTiff);
  CHECK(SniffText("RIFF\x24\0\0\0WEBPVP8 "sv).kind == ImageKind::kWebp);
}

TEST_CASE(
    "a kind whose library is missing in this build says what to install, and others say nothing") {
  const auto why = [](std::string_view text) { return WhyNotConverted(SniffText(text)); };
  CHECK(why("\xff\xd8\xff\xdb"sv) == "");
  CHECK(why("BM\x46\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0\2\0\0\0\2\0\0\0"sv) == "");
  const auto says = [&](std::string_view text, bool has, const char* package) {
    INFO(why(text));
    return has ? why(text).empty() : why(text).find(package) != std::string::npos;
  };
#ifdef SLUICE_HAS_WEBP
  constexpr bool kWebp = true;
#else
  constexpr bool kWebp = false;
#endif
#ifdef SLUICE_HAS_GIF
  constexpr bool kGif = true;
#else
  constexpr bool kGif = false;
#endif
#ifdef SLUICE_HAS_TIFF
  constexpr bool kTiff = true;
#else
  constexpr bool kTiff = false;
#endif
  CHECK(says("RIFF\x24\0\0\0WEBPVP8 "sv, kWebp, "libwebp-dev"));
  CHECK(says("GIF89a\1\0\1\0"sv, kGif, "libgif-dev"));
  CHECK(says("MM\0*\0\0\0\x08"sv, kTiff, "libtiff-dev"));
#ifdef SLUICE_HAS_AVIF
  constexpr bool kAvif = true;
#else
  constexpr bool kAvif = false;
#endif
#ifdef SLUICE_HAS_HEIF
  constexpr bool kHeif = true;
#else
  constexpr bool kHeif = false;
#endif
#ifdef SLUICE_HAS_JXL
  constexpr bool kJxl = true;
#else
  constexpr bool kJxl = false;
#endif
#ifdef SLUICE_HAS_JP2
  constexpr bool kJp2 = true;
#else
  constexpr bool kJp2 = false;
#endif
  CHECK(
      says("\0\0\0\x1c"
           "ftypavif\0\0\0\0"sv,
           kAvif, "libavif-dev"));
  CHECK(
      says("\0\0\0\x1c"
           "ftypheic\0\0\0\0"sv,
           kHeif, "libheif-dev"));
  CHECK(says("\xff\x0a\xfa\x1f"sv, kJxl, "libjxl-dev"));
  CHECK(says("\xff\x4f\xff\x51\0"sv, kJp2, "libopenjp2-7-dev"));
  CHECK(says("8BPS\0\1"sv, false, "unsupported: a Photoshop image; JPEG, PNG"));
  CHECK(ConvertedKinds().find("BMP") != std::string::npos);
}

TEST_CASE("images of kinds that are not converted are recognised, and their kind is named") {
  const auto name = [](std::string_view text) {
    const Sniffed sniffed = SniffText(text);
    return sniffed.kind == ImageKind::kUnsupported ? std::string(sniffed.name) : "";
  };
  CHECK(name("II*\0\x10\0\0\0CR\2\0"sv) == "Canon raw");
  CHECK(name("8BPS\0\1"sv) == "Photoshop");
  CHECK(name("Pf\n4 2\n-1.0\n"sv) == "PFM");
  CHECK(name("DDS \x7c\0\0\0\x07\x10\0\0"sv) == "DDS");
  CHECK(name("\x0a\5\1\x08\0\0\0\0\x1f\0\x1f\0\x2c\1\x2c\1"sv) == "PCX");
  CHECK(name("\x01\xda\1\1\0\3\0\x40\0\x30\0\3\0\0\0\0"sv) == "SGI");
  CHECK(name("\0\0\1\0\1\0\x10\x10\0\0\1\0\x20\0\x68\4\0\0\x16\0\0\0"sv) == "ICO");
}

TEST_CASE("the newer kinds, and Netpbm's and Truevision's files, are recognised by content") {
  using enum ImageKind;
  CHECK(SniffText("\0\0\0\x18"
                  "ftypheic\0\0\0\0mif1heic"sv)
            .kind == kHeif);
  CHECK(SniffText("\0\0\0\x18"
                  "ftypmif1\0\0\0\0mif1heic"sv)
            .kind == kHeif);
  CHECK(SniffText("\0\0\0\x1c"
                  "ftypavif\0\0\0\0avifmif1"sv)
            .kind == kAvif);
  CHECK(SniffText("\0\0\0\x1c"
                  "ftypmif1\0\0\0\0mif1avif"sv)
            .kind == kAvif);
  CHECK(SniffText("\0\0\0\x0cJXL \x0d\x0a\x87\x0a"sv).kind == kJxl);
  CHECK(SniffText("\xff\x0a\xfa\x1f"sv).kind == kJxl);
  CHECK(SniffText("\0\0\0\x0cjP  \x0d\x0a\x87\x0a"sv).kind == kJp2);
  CHECK(SniffText("\xff\x4f\xff\x51\0"sv).kind == kJp2);
  for (const std::string_view text :
       {"P6\n640 480\n255\n\1\2\3"sv, "P5 3 2 15 "sv, "P1\n# made by hand\n2 2\n"sv,
        "P4\t8\n8\n\xff"sv, "P7\nWIDTH 4\nHEIGHT 2"sv}) {
    INFO(text);
    CHECK(SniffText(text).kind == kPnm);
  }
  // Colours, grey in run lengths, a colour map.
  CHECK(SniffText("\0\0\2\0\0\0\0\0\0\0\0\0\4\0\2\0\x18\x20\1\2\3"sv).kind == kTga);
  CHECK(SniffText("\x05\0\x0b\0\0\0\0\0\0\0\0\0\4\0\2\0\x08\0title"sv).kind == kTga);
  CHECK(SniffText("\0\1\1\0\0\0\1\x18\0\0\0\0\4\0\2\0\x08\0\1\2\3"sv).kind == kTga);
}

TEST_CASE("the reason why an image is left out has the right article") {
  const auto why = [](std::string_view text) { return WhyNotConverted(SniffText(text)); };
  CHECK(why("\0\0\1\0\1\0\x10\x10\0\0\1\0\x20\0\x68\4\0\0\x16\0\0\0"sv)
            .starts_with("unsupported: an ICO image"));
  CHECK(why("DDS \x7c\0\0\0"sv).starts_with("unsupported: a DDS image"));
  CHECK(why("\x01\xda\1\1\0\3\0\x40\0\x30\0\3"sv).starts_with("unsupported: an SGI image"));
}

TEST_CASE("anything else is not an image, including a text that begins like a bitmap") {
  for (const std::string_view text :
       {""sv, "\xff\xd8"sv, "hello"sv, "BM is a place near the sea, and more"sv,
        "RIFF\0\0\0\0WAVE"sv,
        "\0\0\0\x18"
        "ftypmp42"sv,
        "%PDF-1.7"sv, "{\"a\":1}"sv, "P1 comes first, P2 next"sv, "P6\nof all my books"sv,
        "PF\nchang"sv, "\n\1 and more of it"sv,
        "\0\0\1\xba\x44\0\4\0\4\1\0\0\0\0\0\0\0\0\0\0\0\0"sv,
        "\0\1\0\0\0\x0e\0\x80\0\3\0\x60\x47\x44\x45\x46\0\0\0\0"sv,
        "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"sv}) {
    CHECK(SniffText(text).kind == ImageKind::kNone);
  }
}

}  // namespace sluice::test
