// What stands beside YOLO's labels: the classes' names, and how many key points an object has.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace sluice {

inline constexpr std::size_t kMostYoloClasses = 65'536;

struct YoloNames {
  std::vector<std::string> classes;  // empty: not said
  std::vector<std::string> numbers;  // names for classes without any
  std::size_t counted = 0;           // "nc" of a .yaml; 0: not said
  std::size_t points = 0;
  std::size_t point_numbers = 3;  // of each: x, y, visibility
};

// From classes.txt, obj.names or a .yaml with names, in the folder of labels or up to two above it.
// Throws Error(kCorrupt) if names are not in a form that is understood.
YoloNames FindYoloNames(const std::filesystem::path& labels);

// The members `names` (a list or a map by number, in a line or in several), `nc` and `kpt_shape` of
// a YAML text; all others are passed over. Throws Error(kCorrupt).
YoloNames ParseYoloYaml(std::string_view text);

}  // namespace sluice
