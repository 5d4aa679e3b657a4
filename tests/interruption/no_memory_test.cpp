// Commands that run out of memory: a single allocation fails, or all from some point on, or every
// N-th. Each command must then do its work, or end with a message and exit code 1. It must never
// end by a signal, or call intact data broken.
//
// Libraries that decode pictures may crash if one of their small allocations fails, which hardly
// ever happens. A limit of the address space is more likely, so the libraries are tested with such
// a limit.
#include "tests/catch.h"
#include "tests/interruption/conversion.h"
#include "tests/newer_pictures.h"
#include "tests/temporary_folder.h"
#include "tests/tools/run.h"
#include "tests/tools/sources.h"
#include "tests/writer/stored.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

class Commands {
 public:
  Commands() {
    for (const char* const name : {"first", "second"}) {
      for (int i = 0; i < 4; ++i) {
        const Picture picture = Paint(40, 24, [&](std::uint32_t x, std::uint32_t y) {
          return Colour{static_cast<std::uint8_t>(x * 5 + i), static_cast<std::uint8_t>(y * 9),
                        static_cast<std::uint8_t>(name[0])};
        });
        const auto folder =
            folder_ / (std::string(name) + ".source") / (i % 2 == 0 ? "cat" : "dog");
        WriteJpeg(folder / (name + std::to_string(i) + ".jpg"), picture, {.progressive = i == 1});
        WriteBytes(folder / (name + std::to_string(i) + ".ppm"), PpmOf(picture));
      }
      REQUIRE(Sluice({"convert", At(name) + ".source", At(name)}).exit_code == 0);
    }
  }

  std::string At(const std::string& name) const { return (folder_ / name).string(); }

  // The command line to run, and its program.
  std::pair<std::string, Words> Command(const std::string& name) const {
    if (name == "convert")
      return {SLUICE_COMMAND, {"convert", At("first.source"), At("out"), "--threads", "2"}};
    if (name == "verify")
      return {SLUICE_COMMAND, {"verify", At("first"), "--decode", "--threads", "2"}};
    if (name == "transcode") {
      return {SLUICE_COMMAND,
              {"transcode", At("first"), At("out"), "--image", "packed", "--threads", "2"}};
    }
    if (name == "merge") return {SLUICE_COMMAND, {"merge", At("first"), At("second"), At("out")}};
    if (name == "export")
      return {SLUICE_COMMAND, {"export", At("first"), At("out"), "--threads", "2"}};
    if (name == "nothing") return {SLUICE_COMMAND, {"--version"}};
    if (name == "stats") return {SLUICE_COMMAND, {"stats", At("first"), "--threads", "2"}};
    return {SLUICE_BENCH_COMMAND,
            {"epoch", At("first"), "--transform", "rrc:16,flip", "--threads", "2", "--batch-size",
             "3", "--epochs", "2"}};
  }

  // The approximate number of the command's allocations.
  unsigned long Allocations(const std::string& name) const {
    unsigned long some = 0;
    for (unsigned long all = 1UL << 17; all - some > 20;) {
      const unsigned long middle = (some + all) / 2;
      (RunRefused(name, middle, 1).exit_code == 0 ? all : some) = middle;
    }
    return some;
  }

  // Runs the command while allocations `first`, `first` + `step`, ... fail (step 0: only `first`).
  Outcome RunRefused(const std::string& name, unsigned long first, unsigned long step) const {
    std::filesystem::remove_all(At("out"));
    const auto [program, words] = Command(name);
    return Run(program, words,
               {.environment = {
                    std::string("LD_PRELOAD=") + SLUICE_MEMORY_SEAM,
                    "SLUICE_MEMORY_FAIL=" + std::to_string(first) + ":" + std::to_string(step)}});
  }

  // The files that the last run made.
  Contents Made() const { return ContentsIfAny(At("out")); }

 private:
  static std::string PpmOf(const Picture& picture) {
    return "P6 " + std::to_string(picture.width) + " " + std::to_string(picture.height) + " 255\n" +
           std::string(picture.pixels.begin(), picture.pixels.end());
  }

  TemporaryFolder folder_;
};

}  // namespace

TEST_CASE("Whichever allocation fails, a command ends with a message, and never by a signal") {
  constexpr unsigned long kNever = 1UL << 40;
  const Commands commands;
  const std::string name = GENERATE(as<std::string>(), "convert", "verify", "transcode", "merge",
                                    "export", "stats", "epoch");
  const Outcome whole = commands.RunRefused(name, kNever, 0);
  REQUIRE(whole.exit_code == 0);
  const Contents made = commands.Made();
  const unsigned long begin = commands.Allocations("nothing");
  const unsigned long end = commands.Allocations(name);
  REQUIRE(end > begin);
  std::vector<std::pair<unsigned long, unsigned long>> refused;
  for (const unsigned long every : {1, 2, 3, 7, 19, 61, 211, 997, 2503})
    refused.emplace_back(every, every);
  constexpr unsigned long kPlaces = 25;
  for (unsigned long i = 0; i < kPlaces; ++i) {
    refused.emplace_back(begin + i * (end - begin) / kPlaces, 0);
    refused.emplace_back(begin + i * (end - begin) / kPlaces, 1);
  }
  for (const auto& [first, step] : refused) {
    const Outcome outcome = commands.RunRefused(name, first, step);
    INFO(name << ", allocation " << first << " and each " << step << "th: exit code "
              << outcome.exit_code << ", signal " << outcome.signal << "\n"
              << outcome.out << "\n"
              << outcome.err);
    if (outcome.exit_code == 0) {
      if (name != "epoch") CHECK(commands.Made() == made);
      continue;
    }
    CHECK(outcome.exit_code == 1);
    CHECK_THAT(outcome.err, ContainsSubstring("memory"));
    CHECK_THAT(outcome.err, !ContainsSubstring("broken"));
  }
}

namespace {

// A file of each newer kind that this build reads, by its ending.
std::map<std::string, PictureFile> NewerFiles() {
  const Picture picture = Paint(640, 480, [](std::uint32_t x, std::uint32_t y) {
    return Colour{static_cast<std::uint8_t>(x), static_cast<std::uint8_t>(y),
                  static_cast<std::uint8_t>(x + y)};
  });
  std::map<std::string, PictureFile> files;
#ifdef SLUICE_HAS_AVIF
  files["avif"] = Avif(picture);
#endif
#ifdef SLUICE_HAS_HEIF
  files["heic"] = Heif(picture);
#endif
#ifdef SLUICE_HAS_JXL
  files["jxl"] = Jxl(picture);
#endif
#ifdef SLUICE_HAS_JP2
  files["jp2"] = Jp2(picture);
#endif
  std::erase_if(files, [](const auto& file) { return file.second.empty(); });
  return files;
}

// Converts a picture of that kind with `limits` + 1 limits of the address space, in even steps:
// from one in which the program just starts to one that is enough.
void ConvertUnderLimits(const std::string& kind, const PictureFile& file, int limits) {
  const TemporaryFolder folder;
  const std::string out = folder / "out";
  const auto* const bytes = reinterpret_cast<const char*>(file.data());
  WriteBytes(folder / "source" / ("picture." + kind), std::string(bytes, file.size()));
  const Words convert = {"convert", folder / "source", out, "--threads", "1"};
  REQUIRE(Sluice(convert).exit_code == 0);
  const Contents whole = ContentsIfAny(out);
  const auto run = [&](std::uint64_t kilobytes, const Words& words) {
    std::filesystem::remove_all(out);
    Words all = {"-c", "ulimit -v $0 && exec \"$@\"", std::to_string(kilobytes), SLUICE_COMMAND};
    all.insert(all.end(), words.begin(), words.end());
    return Run("/bin/sh", all);
  };
  const auto enough_for = [&](const Words& words) {
    std::uint64_t some = 0, enough = 16 << 20;
    while (enough - some > 256) {
      const std::uint64_t middle = (some + enough) / 2;
      (run(middle, words).exit_code == 0 ? enough : some) = middle;
    }
    return enough;
  };
  const std::uint64_t begin = enough_for({"--version"}), end = enough_for(convert);
  REQUIRE(end > begin);
  for (int i = 0; i <= limits; ++i) {
    const std::uint64_t limit = begin + static_cast<std::uint64_t>(i) * (end - begin) / limits;
    const Outcome outcome = run(limit, convert);
    INFO(kind << ", ulimit -v " << limit << ": exit code " << outcome.exit_code << ", signal "
              << outcome.signal << "\n"
              << outcome.out << "\n"
              << outcome.err);
    if (outcome.exit_code == 0) {
      CHECK(ContentsIfAny(out) == whole);
      continue;
    }
    CHECK(outcome.exit_code == 1);
    CHECK_THAT(outcome.err, ContainsSubstring("memory") || ContainsSubstring("ulimit -v"));
    CHECK_THAT(outcome.err, !ContainsSubstring("broken"));
    CHECK_FALSE(std::filesystem::exists(std::filesystem::path(out) / "skipped.tsv"));
  }
}

}  // namespace

TEST_CASE("No picture of a newer kind is called broken because there is no memory to decode it") {
  for (const auto& [kind, file] : NewerFiles())
    ConvertUnderLimits(kind, file, 16);
}

TEST_CASE("No picture of a newer kind is called broken under any of 401 limits", "[slow]") {
  for (const auto& [kind, file] : NewerFiles())
    ConvertUnderLimits(kind, file, 400);
}

}  // namespace sluice::test
