// Conversions in parts: the planner (`plan`), a part (`convert --part`) or the finisher (`finish`)
// is killed by SIGKILL before any of its file calls.
#include <csignal>
#include <list>

#include "format/random.h"
#include "tests/catch.h"
#include "tests/interruption/conversion.h"

namespace sluice::test {

namespace {

class Parts {
 public:
  explicit Parts(const Conversion& conversion)
      : conversion_(conversion), data_(conversion.folder() / "parts") {}

  // Runs a random step (the planner, a part or the finisher) and kills it before a random file
  // call. Returns whether it was killed before its end.
  bool KillSome(RandomStream& random) const {
    const bool planned = std::filesystem::exists(data_ / "plan.json");
    const std::uint64_t number = random.Below(10);
    const std::uint64_t of = 1 + random.Below(4);
    const Words words = !planned || number == 0 ? Plan()
                        : number < 3            ? Words{"finish", data_.string()}
                                                : Part(random.Below(of), of);
    const std::string call = std::to_string(random.Below(planned ? 36 : 12));
    INFO(words[0] << " " << words[1] << " " << words[2 % words.size()] << " before call " << call);
    const Outcome outcome = Sluice(words, Conversion::WithSeam(data_, "kill:" + call));
    INFO("stdout: " << outcome.out << "\nstderr: " << outcome.err);
    if (outcome.signal == SIGKILL) return true;
    // Only a finisher that came too early may fail. An exit code of 3 reports the two broken
    // sources.
    const bool finish = words[0] == "finish";
    const bool good =
        outcome.exit_code == 0 || (finish && outcome.exit_code == 3) ||
        (finish && outcome.err.find("planned shards are not there") != std::string::npos);
    CHECK(good);
    return false;
  }

  // Runs all steps, each part and the finisher as two processes at once, and checks the bytes.
  void CheckResumes() const {
    Check({Plan()}, {0});
    Check({Part(0, 2), Part(0, 2), Part(1, 2), Part(1, 2)}, {0});
    Check({{"finish", data_.string()}, {"finish", data_.string()}}, {0, 3});
    CHECK(ContentsIfAny(data_) == conversion_.expected());
  }
  void Clear() const { std::filesystem::remove_all(data_); }
  const std::filesystem::path& data() const noexcept { return data_; }

 private:
  Words Plan() const {
    Words words = conversion_.Command(data_);
    words[0] = "plan";
    return words;
  }
  Words Part(std::uint64_t number, std::uint64_t of) const {
    return {"convert", "--part", std::to_string(number) + "/" + std::to_string(of), data_.string()};
  }
  static void Check(const std::vector<Words>& together, const std::vector<int>& exit_codes) {
    std::list<Running> running;
    for (const Words& words : together)
      running.emplace_back(SLUICE_COMMAND, words);
    for (Running& one : running) {
      const Outcome outcome = one.Wait();
      INFO("stdout: " << outcome.out << "\nstderr: " << outcome.err);
      CHECK_THAT(exit_codes, Catch::Matchers::VectorContains(outcome.exit_code));
    }
  }

  const Conversion& conversion_;
  std::filesystem::path data_;
};

// Kills at least `kills` steps. Each conversion is finished after it has run `steps_each` random
// steps.
void KillSteps(int kills, int steps_each) {
  const Conversion conversion(4);
  const Parts parts(conversion);
  RandomStream random(11, static_cast<Purpose>(999), 0);
  for (int done = 0; done < kills;) {
    for (int i = 0; i < steps_each; ++i)
      done += parts.KillSome(random) ? 1 : 0;
    conversion.CheckReaders(parts.data());
    parts.CheckResumes();
    parts.Clear();
  }
}

}  // namespace

TEST_CASE("other processes can continue after planners, parts and finishers that are killed") {
  KillSteps(6, 8);
}

TEST_CASE("other processes can continue after planners, parts and finishers killed 200 times",
          "[slow]") {
  KillSteps(200, 12);
}

}  // namespace sluice::test
