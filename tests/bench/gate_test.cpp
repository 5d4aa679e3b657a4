// The comparison of two results by `sluice-bench gate`.
#include "bench/gate/gate.h"

#include <nlohmann/json.hpp>

#include "tests/catch.h"

namespace sluice::bench {
namespace {

Measurement Rate(std::vector<double> values) {
  return {"rate", "1/s", true, std::move(values)};
}
Judgement JudgementOf(const Measurement& before, const Measurement& after,
                      const GateRule& rule = {}) {
  return Judge({before}, {after}, rule).front().judgement;
}
// The differences between two results, if no option may differ.
std::vector<std::string> Differences(const nlohmann::ordered_json& before,
                                     const nlohmann::ordered_json& after) {
  return DifferencesThatMatter(before, after, [](const std::string&) { return false; });
}

}  // namespace

TEST_CASE("a slowdown beyond noise and tolerance is worse, and the reverse is better") {
  CHECK(JudgementOf(Rate({100, 101, 99}), Rate({80, 82, 81})) == Judgement::kWorse);
  CHECK(JudgementOf(Rate({80, 82, 81}), Rate({100, 101, 99})) == Judgement::kBetter);
}

TEST_CASE("a figure that is better when lower is judged the other way round") {
  const Measurement before{"cpu", "s", false, {10, 11, 12}};
  const Measurement after{"cpu", "s", false, {20, 21, 22}};
  CHECK(JudgementOf(before, after) == Judgement::kWorse);
  CHECK(JudgementOf(after, before) == Judgement::kBetter);
}

TEST_CASE("a significant change within the tolerance does not count as a change") {
  CHECK(JudgementOf(Rate({100, 101, 102}), Rate({97, 98, 98.5})) == Judgement::kSame);
  CHECK(JudgementOf(Rate({100, 101, 102}), Rate({97, 98, 98.5}), {0.01, 0.05}) ==
        Judgement::kWorse);
}

TEST_CASE("a large change that noise explains is unclear, not worse") {
  CHECK(JudgementOf(Rate({100, 140, 60}), Rate({80, 130, 55})) == Judgement::kUnclear);
  CHECK(JudgementOf(Rate({100}), Rate({50})) == Judgement::kUnclear);
}

TEST_CASE("a measurement that the new result lacks is missing") {
  const auto lines = Judge({Rate({1, 2, 3})}, {}, {});
  REQUIRE(lines.size() == 1);
  CHECK(lines.front().judgement == Judgement::kMissing);
}

TEST_CASE(
    "results of different datasets can be compared, but not of different machines or settings") {
  const nlohmann::ordered_json one{{"command", "epoch"},
                                   {"machine", {{"cpu", "A"}, {"cpus", 2}}},
                                   {"threads", 2},
                                   {"dataset", "here"}};
  nlohmann::ordered_json other = one;
  other["dataset"] = "there";
  CHECK(Differences(one, other).empty());
  other["threads"] = 4;
  other["machine"]["cpu"] = "B";
  const std::vector<std::string> expected = {"machine/cpu: \"A\" and \"B\"", "threads: 2 and 4"};
  CHECK(Differences(one, other) == expected);
}

TEST_CASE("two results that differ in any setting of a command cannot be compared") {
  using Json = nlohmann::ordered_json;
  const auto differ = [](const char* command, const char* key, const Json& a, const Json& b) {
    Json one{{"command", command}}, other = one;
    one[key] = a;
    other[key] = b;
    return Differences(one, other).size() == 1 && Differences(one, one).empty();
  };
  CHECK(differ("epoch", "device", "host", "cuda:0"));
  CHECK(differ("epoch", "device_steps", true, false));
  CHECK(differ("epoch", "gpus", {"A"}, {"B"}));
  CHECK(differ("epoch", "views", Json::array(), {"rrc:96"}));
  CHECK(differ("epoch", "sizes", "", "160,192@16"));
  CHECK(differ("epoch", "direct", Json(), true));
  CHECK(differ("epoch", "threads", 1, 2));
  CHECK(differ("upload", "gpus", {"A"}, {"B"}));
  CHECK(differ("upload", "device", 0, 1));
  CHECK(differ("upload", "normalize", "none", "bf16"));
  CHECK(differ("upload", "side", 224, 256));
  CHECK(differ("upload", "batch_size", 64, 256));
  CHECK(differ("upload", "batches", 10, 100));
  CHECK(differ("upload", "layout", "nhwc", "nchw"));
  CHECK(differ("convert", "max_side", 0, 500));
  CHECK(differ("convert", "quality", 80, 90));
  CHECK(differ("transforms", "side", 96, 224));
  CHECK(differ("order", "lanes", 192, 96));
  // In results of `order`, `sizes` holds measurements and is no setting.
  CHECK_FALSE(differ("order", "sizes", {{{"samples", 1}}}, {{{"samples", 2}}}));
}

TEST_CASE("results of different options cannot be compared, whatever the option is") {
  using Json = nlohmann::ordered_json;
  const auto differ = [](const Json& a, const Json& b) {
    return DifferencesThatMatter(
        {{"command", "epoch"}, {"options", a}}, {{"command", "epoch"}, {"options", b}},
        [](const auto& option) { return option == "--epochs" || option == "--json-file"; });
  };
  const Json none = Json::object(), delayed = {{"--store-delay", {"50ms"}}};
  CHECK(differ(delayed, delayed).empty());
  CHECK(differ(none, delayed) ==
        std::vector<std::string>{"--store-delay: not given and [\"50ms\"]"});
  CHECK(differ({{"--direct", Json::array()}}, none) ==
        std::vector<std::string>{"--direct: given and not given"});
  CHECK(differ({{"--an-option-of-tomorrow", {"1"}}}, {{"--an-option-of-tomorrow", {"2"}}}).size() ==
        1);
  // The function above says that these options do not change the measurement.
  CHECK(differ({{"--epochs", {"3"}}, {"--json-file", {"a.json"}}}, none).empty());
}

TEST_CASE("an option that states the default is the same setting as its absence") {
  using Json = nlohmann::ordered_json;
  Json without = {{"command", "epoch"}, {"lanes", 192}, {"options", Json::object()}},
       with = without;
  with["options"]["--lanes"] = {"192"};
  CHECK(Differences(without, with).empty());
  with["lanes"] = 64;
  with["options"]["--lanes"] = {"64"};
  CHECK(Differences(without, with) == std::vector<std::string>{"--lanes: 192 and 64"});
}

TEST_CASE("a rise from zero is a change, and worse if lower values are better") {
  const Measurement none{"faults", "1", false, {0, 0, 0}}, some{"faults", "1", false, {3, 4, 5}};
  CHECK(JudgementOf(none, some) == Judgement::kWorse);
  CHECK(JudgementOf(some, none) == Judgement::kBetter);
  CHECK(JudgementOf(none, none) == Judgement::kSame);
}

}  // namespace sluice::bench
