// Makes a folder of photo-like JPEGs in class folders, for trying Sluice without pictures of
// your own: make_photos FOLDER [CLASSES [PER_CLASS [LONG_SIDE]]]
//
// The pictures have the statistics of photos: soft gradients, textures at several scales, hard
// edges, objects in front of other objects, and grain. At quality 90 they are about as large as
// photos. Each class has a shape and a tendency towards a colour, so that a small classifier can
// learn it. The same arguments make the same pictures (and, with the same libjpeg, the same files).
// Uses nothing of Sluice.

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstdio>  // before jpeglib.h, which needs FILE
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <jpeglib.h>

#include "scene.h"

namespace {

struct Picture {
  int width = 0, height = 0;
  bool grey = false;
  std::vector<std::uint8_t> rgb;
};

// Chooses a size: the longer side has about `long_side` pixels. Half of the pictures are 4:3; a
// quarter of all pictures are upright.
void ChooseSize(Random& random, int long_side, Picture& picture) {
  constexpr std::array<float, 6> kRatios = {0.75F, 0.75F, 0.75F, 0.667F, 0.5625F, 1.0F};
  const float side = static_cast<float>(long_side) * random.Between(0.85F, 1.1F);
  const float ratio = kRatios[random.Next() % kRatios.size()];
  picture.width = std::max(1, static_cast<int>(side));
  picture.height = std::max(1, static_cast<int>(side * ratio));
  if (random.Chance(0.25F)) std::swap(picture.width, picture.height);
}

Picture MakePicture(std::size_t label, std::uint64_t seed, int long_side) {
  Random random(seed);
  Picture picture;
  ChooseSize(random, long_side, picture);
  picture.grey = random.Chance(0.04F);
  const Scene scene(random, label, picture.width, picture.height);
  const float grain = random.Between(6, 22);
  picture.rgb.reserve(static_cast<std::size_t>(picture.width) * picture.height * 3);
  for (int y = 0; y < picture.height; ++y) {
    for (int x = 0; x < picture.width; ++x) {
      const Color color = scene.At(x, y);
      // The sum of two uniform draws has a triangular distribution, which is close enough to a
      // sensor's noise.
      const std::uint64_t bits = random.Next();
      const auto sum = static_cast<float>((bits & 0xFFFF) + ((bits >> 16) & 0xFFFF));
      const float noise = (sum * 0x1p-16F - 1) * grain;
      for (const float value : {color.r, color.g, color.b})
        picture.rgb.push_back(static_cast<std::uint8_t>(std::clamp(value + noise, 0.0F, 255.0F)));
    }
  }
  return picture;
}

[[noreturn]] void ThrowJpegError(j_common_ptr jpeg) {
  std::array<char, JMSG_LENGTH_MAX> message{};
  (*jpeg->err->format_message)(jpeg, message.data());
  throw std::runtime_error(message.data());
}

// Encodes with libjpeg's memory destination, which allocates a buffer; `output` frees it.
std::vector<std::uint8_t> EncodeJpeg(const Picture& picture) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  errors.error_exit = ThrowJpegError;
  struct Output {
    jpeg_compress_struct& jpeg;
    unsigned char* bytes = nullptr;
    unsigned long size = 0;  // NOLINT(google-runtime-int): libjpeg's type
    explicit Output(jpeg_compress_struct& j) : jpeg(j) { jpeg_create_compress(&jpeg); }
    Output(const Output&) = delete;
    Output& operator=(const Output&) = delete;
    ~Output() {
      jpeg_destroy_compress(&jpeg);
      std::free(bytes);
    }
  } output(jpeg);
  jpeg_mem_dest(&jpeg, &output.bytes, &output.size);
  jpeg.image_width = static_cast<JDIMENSION>(picture.width);
  jpeg.image_height = static_cast<JDIMENSION>(picture.height);
  jpeg.input_components = 3;
  jpeg.in_color_space = JCS_RGB;
  jpeg_set_defaults(&jpeg);
  if (picture.grey) jpeg_set_colorspace(&jpeg, JCS_GRAYSCALE);
  jpeg_set_quality(&jpeg, 90, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  std::vector<std::uint8_t> row(static_cast<std::size_t>(picture.width) * 3);
  while (jpeg.next_scanline < jpeg.image_height) {
    const auto* from = picture.rgb.data() + jpeg.next_scanline * row.size();
    std::copy_n(from, row.size(), row.data());  // libjpeg wants rows that it may modify
    JSAMPROW rows[] = {row.data()};
    jpeg_write_scanlines(&jpeg, rows, 1);
  }
  jpeg_finish_compress(&jpeg);
  return {output.bytes, output.bytes + output.size};
}

void WriteFile(const std::filesystem::path& path, const std::vector<std::uint8_t>& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path.string());
}

struct Request {
  std::filesystem::path folder;
  int classes = 10, per_class = 60, long_side = 500;
};

std::string ClassName(std::size_t label) {
  const std::string name = kShapes[label % kShapes.size()].name;
  return label < kShapes.size() ? name : name + "-" + std::to_string(label / kShapes.size() + 1);
}

std::string FileName(std::size_t number) {
  std::string digits = std::to_string(number);
  return std::string(digits.size() < 5 ? 5 - digits.size() : 0, '0') + digits + ".jpg";
}

// Returns the number of bytes written.
std::uint64_t MakeFolder(const Request& request) {
  const auto classes = static_cast<std::size_t>(request.classes);
  for (std::size_t label = 0; label < classes; ++label)
    std::filesystem::create_directories(request.folder / ClassName(label));

  const std::size_t total = classes * static_cast<std::size_t>(request.per_class);
  std::atomic<std::size_t> next = 0;
  std::atomic<std::uint64_t> bytes = 0;
  std::vector<std::exception_ptr> faults(std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::jthread> threads;
  threads.reserve(faults.size());
  for (std::exception_ptr& fault : faults) {
    threads.emplace_back([&] {
      try {
        for (std::size_t i = next++; i < total; i = next++) {
          const std::size_t label = i % classes;
          const std::vector<std::uint8_t> jpeg =
              EncodeJpeg(MakePicture(label, i, request.long_side));
          WriteFile(request.folder / ClassName(label) / FileName(i / classes), jpeg);
          bytes += jpeg.size();
        }
      } catch (...) {
        fault = std::current_exception();
        next = total;  // ends the other threads, too
      }
    });
  }
  threads.clear();  // joins
  for (const std::exception_ptr& fault : faults)
    if (fault) std::rethrow_exception(fault);
  return bytes;
}

int Number(std::string_view text, int low, int high) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < low || value > high)
    throw std::invalid_argument("'" + std::string(text) + "' is not a number from " +
                                std::to_string(low) + " to " + std::to_string(high));
  return value;
}

Request Parse(int argc, char** argv) {
  if (argc < 2 || argc > 5 || argv[1][0] == '-' || argv[1][0] == '\0')
    throw std::invalid_argument(
        "usage: make_photos FOLDER [CLASSES=10 [PER_CLASS=60 [LONG_SIDE=500]]]");
  Request request{.folder = argv[1]};
  if (argc > 2) request.classes = Number(argv[2], 1, 10'000);
  if (argc > 3) request.per_class = Number(argv[3], 1, 99'999);
  if (argc > 4) request.long_side = Number(argv[4], 16, 10'000);
  return request;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Request request = Parse(argc, argv);
    const std::uint64_t bytes = MakeFolder(request);
    std::printf("%s: %d classes of %d pictures, %.1f MB\n", request.folder.c_str(), request.classes,
                request.per_class, static_cast<double>(bytes) / 1e6);
    return 0;
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "make_photos: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_photos: %s\n", error.what());
    return 1;
  }
}
