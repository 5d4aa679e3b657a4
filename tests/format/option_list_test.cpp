// The functions that visit, check and name the options of a struct. The structs are examples.
#include <vector>

#include <sluice/option_list.h>

#include "tests/catch.h"

namespace {

// Types of a program, with names that option_list also has.
struct Option {};
struct Options {};
struct Word {};
struct Words {};
struct Changes {};

void UseTheirNames() {
  using namespace sluice;
  [[maybe_unused]] const std::tuple<Option, Options, Word, Words, Changes> own;
}

}  // namespace

namespace sluice {
namespace test {
namespace {

enum class Shade { kLight, kVeryDark };
struct Lamp {
  unsigned watts = 60;
  Shade shade = Shade::kLight;
};
struct Spare {
  std::uint64_t bytes = 1;
};
struct Room {
  std::optional<unsigned> doors = {};
  Lamp lamp = {};
  std::optional<Spare> spare = {};
  std::variant<std::monostate, Lamp> outside = {};
};

}  // namespace
}  // namespace test

namespace option_list {

template <>
inline constexpr auto WordsOf<test::Shade> = Words("Shade", "", Word("light", test::Shade::kLight),
                                                   Word("very_dark", test::Shade::kVeryDark));
template <>
inline constexpr auto OptionsOf<test::Lamp> = Options<test::Lamp>(
    "Lamp", "", Option("watts", &test::Lamp::watts, "power", {.least = 1, .most = 100}),
    Option("shade", &test::Lamp::shade, "colour"));
template <>
inline constexpr auto OptionsOf<test::Spare> =
    Options<test::Spare>("Spare", "",
                         Option("bytes", &test::Spare::bytes, "size",
                                {.least = 1 << 20, .most = 64e6, .form = NumberForm::kBytes}));
template <>
inline constexpr auto OptionsOf<test::Room> = Options<test::Room>(
    "Room", "", Option("doors", &test::Room::doors, "ways out", {.least = 1}),
    Option("lamp", &test::Room::lamp, "light"), Option("spare", &test::Room::spare, "space"),
    Option("outside", &test::Room::outside, "what is there"));

}  // namespace option_list

namespace test {

using namespace option_list;

TEST_CASE("`using namespace sluice` leaves a program its own Option, Word and the like") {
  UseTheirNames();
}

TEST_CASE("options are visited with their paths, including those of groups that are set") {
  const auto paths_of = [](const Room& room) {
    std::vector<std::string> paths;
    ForEachOption(
        room, [&](const auto&, const auto&, const std::string& path) { paths.push_back(path); });
    return paths;
  };
  Room room;
  CHECK(paths_of(room) == std::vector<std::string>{"doors", "lamp.watts", "lamp.shade"});
  room.spare.emplace();
  room.outside = Lamp();
  CHECK(paths_of(room) == std::vector<std::string>{"doors", "lamp.watts", "lamp.shade",
                                                   "spare.bytes", "outside.watts",
                                                   "outside.shade"});
}

TEST_CASE("the error for a number outside its range names the range, as people write it") {
  Room room;
  CHECK(WhatIsOutOfRange(room).empty());
  room.outside = Lamp{.watts = 101};
  CHECK(WhatIsOutOfRange(room) == "outside.watts must be 1 to 100");
  room.spare = Spare{.bytes = 65'000'000};
  CHECK(WhatIsOutOfRange(room) == "spare.bytes must be 1MiB to 64MB");
  room.doors = 0;
  CHECK(WhatIsOutOfRange(room) == "doors must be at least 1; or leave it empty");
  CHECK(NumberText(178e6, NumberForm::kCount) == "178M");
  CHECK(NumberText(0.25, NumberForm::kPlain) == "0.25");
}

TEST_CASE("an enumerator and its word lead to each other") {
  CHECK(WordOf(Shade::kVeryDark) == std::string("very_dark"));
  CHECK(FromWord<Shade>("light") == Shade::kLight);
  CHECK_FALSE(FromWord<Shade>("dark").has_value());
}

TEST_CASE("an option is found by its member") {
  CHECK(OptionAt(&Lamp::watts).name == std::string("watts"));
}

}  // namespace test
}  // namespace sluice
