// AVIF, HEIF, JPEG XL and JPEG 2000: what the libraries that parse these files refuse, accept and
// allocate.
#include "tests/fuzz/bounds.h"
#include "tests/fuzz/targets.h"
#include "tests/newer_pictures.h"

namespace sluice::fuzz {

// Runs the source target within bounds of memory and time.
void RunPicture(Bytes input) {
  // RunSource() refuses pictures of more than 2^20 pixels. With 16 bytes per pixel, 32 copies of
  // such a picture fit.
  constexpr std::size_t kMaxHeapBytes = std::size_t{512} << 20;
  constexpr unsigned kMaxSeconds = 60;
  const MemoryBound memory(kMaxHeapBytes);
  const TimeBound time(kMaxSeconds);
  RunSource(input);
}

std::vector<Input> PictureSeeds() {
  std::vector<Input> seeds;
  [[maybe_unused]] const auto add = [&seeds](unsigned choice, unsigned side, const Input& file) {
    if (file.empty()) return;
    seeds.push_back({static_cast<std::byte>(choice), static_cast<std::byte>(side)});
    seeds.back().insert(seeds.back().end(), file.begin(), file.end());
  };
  [[maybe_unused]] const test::Picture rgb = test::MakePicture(20, 9);
  [[maybe_unused]] const test::Picture rgba = test::MakePicture(7, 5, 4);
  [[maybe_unused]] const test::Picture grey = test::MakePicture(9, 5, 1);
#ifdef SLUICE_HAS_AVIF
  add(32, 1, test::Avif(rgb));
  add(1, 20,
      test::AvifWith(
          rgba,
          {.depth = 10, .angle = 1, .mirror = 0, .exif = std::string("II*\0\x08\0\0\0\0\0", 10)}));
  add(16, 2, test::AvifWith(test::MakePicture(64, 64), {.grey = true, .tiles = 2}));
#endif
#ifdef SLUICE_HAS_HEIF
  add(32, 1, test::Heif(test::MakePicture(64, 64)));
  add(1, 20, test::HeifWith(test::MakePicture(70, 64, 4), 6));
#endif
#ifdef SLUICE_HAS_JXL
  add(32, 1, test::Jxl(rgb));
  add(1, 20, test::Jxl(rgba));
  add(16, 2,
      test::JxlWith(grey.pixels.data(), 9, 5, 1, 8,
                    {.orientation = 6, .linear = true, .boxes = true}));
#endif
#ifdef SLUICE_HAS_JP2
  add(32, 1, test::Jp2(rgb));
  add(1, 20, test::Jp2With(rgb, 8, true, 2));
  add(16, 2, test::Jp2With(rgba, 16, false, 1));
#endif
  return seeds;
}

}  // namespace sluice::fuzz
