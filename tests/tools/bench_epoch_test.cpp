// sluice-bench epoch: its options, and its result as text, JSON, a page and a trace.
#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <set>
#include <sstream>

#include <sluice/dataset.h>

#include "tests/tools/animals.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

TEST_CASE("sluice-bench epoch --json prints the figures of each epoch as one object") {
  const Animals animals;
  const auto begin = std::chrono::steady_clock::now();
  const nlohmann::json answer = animals.EpochJson({"--batch-size", "8", "--threads", "2"});
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  CHECK(answer["threads"] == 2);
  CHECK(answer["batch_size"] == 8);
  CHECK(answer["samples"] == 30);
  CHECK(answer["first_batch_seconds"].get<double>() > 0);
  CHECK(answer["first_batch_seconds"].get<double>() < taken.count() + 1);
  CHECK(answer["peak_rss_bytes"].get<std::uint64_t>() > 1'000'000);
  CHECK(answer["warm_up_epochs"].size() == 1);
  REQUIRE(answer["epochs"].size() == 3);
  const Dataset dataset = Dataset::Open(animals.data());
  for (const auto& epoch : answer["epochs"]) {
    CHECK(epoch["images"] == 30);
    CHECK(epoch["batches"] == 4);
    const double seconds = epoch["seconds"];
    CHECK(seconds > 0);
    CHECK(epoch["images_per_second"].get<double>() == Approx(30 / seconds));
    CHECK(epoch["wait_share"].get<double>() >= 0);
    CHECK(epoch["wait_share"].get<double>() <= 1);
    CHECK(epoch["cpu_seconds"].get<double>() >= 0);
  }
  // Each of the four epochs reads each payload once. The loader may also have read ahead for a
  // fifth.
  CHECK(BytesRead(answer) >= 4 * dataset.images()[0].payload_bytes);
  CHECK(BytesRead(answer) <= 5 * dataset.images()[0].payload_bytes);
}

TEST_CASE("sluice-bench epoch prints a table of at most 100 columns and no carriage returns") {
  const Animals animals;
  const Outcome outcome = animals.Epoch({"--batch-size", "8", "--epochs", "2"});
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("images/s"));
  CHECK_THAT(outcome.out, ContainsSubstring("warm-up "));
  CHECK_THAT(outcome.out, ContainsSubstring("\n2 "));
  CHECK_THAT(outcome.out, ContainsSubstring("an epoch's first batch comes after"));
  CHECK((outcome.out + outcome.err).find('\r') == std::string::npos);
  // If the command takes longer than a minute, there is a line for each minute, too.
  CHECK(outcome.err.starts_with("playing " + animals.data() + "\n"));
  for (std::size_t begin = 0; begin < outcome.out.size();) {
    const std::size_t end = outcome.out.find('\n', begin);
    CHECK(end - begin <= 100);
    begin = end + 1;
  }
  CHECK(animals.Epoch({"--quiet"}).err.empty());
}

TEST_CASE("options --epochs and --warm-up say how many epochs are played") {
  const Animals animals;
  const nlohmann::json answer = animals.EpochJson({"--epochs", "5", "--warm-up", "2"});
  CHECK(answer["epochs"].size() == 5);
  CHECK(answer["warm_up_epochs"].size() == 2);
}

TEST_CASE("option --step-ms holds each batch for so many milliseconds") {
  const Animals animals;
  const nlohmann::json answer = animals.EpochJson(
      {"--batch-size", "10", "--step-ms", "60.5", "--epochs", "1", "--warm-up", "0"});
  CHECK(answer["epochs"][0]["seconds"].get<double>() >= 3 * 0.0605);
  CHECK(answer["step_ms"] == 60.5);
}

TEST_CASE("option --transform sets the size of the images in a batch") {
  const Animals animals;
  CHECK(animals.ImageShape("none") == "30x40x3");
  CHECK(animals.ImageShape("rrc:24") == "24x24x3");
  CHECK(animals.ImageShape("resize:20x10") == "10x20x3");
  CHECK(animals.ImageShape("center:16") == "16x16x3");
  CHECK(animals.ImageShape("crop:32+4") == "32x32x3");
  CHECK(animals.ImageShape("short:26,center:22") == "22x22x3");
}

TEST_CASE("without --transform, images of one size stay, and others become random crops of 224") {
  const Animals animals;
  CHECK(animals.EpochJson({"--epochs", "1"})["transform"] == "none");
  const TemporaryFolder folder;
  WriteJpeg(folder / "source/a.jpg", MakePicture(40, 30));
  WriteJpeg(folder / "source/b.jpg", MakePicture(30, 40));
  const std::string data = (folder / "data").string();
  REQUIRE(Sluice({"convert", (folder / "source").string(), data}).exit_code == 0);
  CHECK(JsonOf(Bench({"epoch", data, "--json"}))["transform"] == "rrc:224");
  const Outcome outcome = Bench({"epoch", data, "--transform", "none"});
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.err, ContainsSubstring("sluice-bench: "));
}

TEST_CASE("the loader's options reach the loader") {
  const Animals animals;
  const nlohmann::json answer =
      animals.EpochJson({"--shuffle", "random", "--seed", "9", "--layout", "nchw", "--transform",
                         "flip", "--verify", "always"});
  CHECK(answer["shuffle"] == "random");
  CHECK(answer["seed"] == 9);
  CHECK(answer["layout"] == "nchw");
  CHECK(answer["flip"] == true);
  CHECK(answer["transform"] == "flip");
  CHECK(answer["verify"] == "always");
  const nlohmann::json plain = animals.EpochJson({"--shuffle", "sequential"});
  CHECK(plain["shuffle"] == "sequential");
  CHECK(plain["flip"] == false);
  CHECK(plain["layout"] == "nhwc");
  CHECK(animals.EpochJson({"--shuffle", "quasi_random"})["shuffle"] == "quasi_random");
}

TEST_CASE("option --prefetch adds batches to the ring") {
  const Animals animals;
  const auto slot_bytes = [&](const char* prefetch) {
    return animals.EpochJson({"--prefetch", prefetch, "--epochs", "1"})["slot_bytes"]
        .get<std::uint64_t>();
  };
  const std::uint64_t two_more = slot_bytes("7") - slot_bytes("5");
  CHECK(two_more >= 2ULL * 256 * 40 * 30 * 3);
  CHECK(slot_bytes("9") - slot_bytes("7") == two_more);
}

TEST_CASE("option --floor compares with a loop of nothing but the same work") {
  const bool raw = GENERATE(false, true);
  const Animals animals(raw ? Words{"--image", "raw"} : Words{});
  const std::string work = raw ? "copies" : "decoding";
  const nlohmann::json answer = animals.EpochJson({"--floor", "--threads", "2", "--epochs", "1"});
  CHECK(answer["floor"]["work"] == work);
  const double floor = answer["floor"]["images_per_second"];
  CHECK(floor > 0);
  CHECK(answer["floor"]["ratio"].get<double>() ==
        Approx(answer["median_images_per_second"].get<double>() / floor));
  CHECK_THAT(animals.Epoch({"--floor"}).out, ContainsSubstring("a loop of nothing but " + work));
  CHECK_FALSE(animals.EpochJson({}).contains("floor"));
}

TEST_CASE("a result has the schema, the machine, and each measurement with all its values") {
  const Animals animals;
  const TemporaryFolder folder;
  const std::string file = (folder / "result.json").string();
  const nlohmann::json answer =
      animals.EpochJson({"--epochs", "4", "--json-file", file, "--batch-size", "8"});
  CHECK(answer["schema"] == "sluice-bench/1");
  CHECK(answer["command"] == "epoch");
  CHECK(answer["machine"]["cpus"].get<unsigned>() >= 1);
  CHECK(answer["machine"]["compiler"].is_string());
  CHECK(answer["sluice_version"].is_string());
  const nlohmann::json& rates = answer["measurements"][0];
  CHECK(rates["name"] == "images_per_second");
  CHECK(rates["better"] == "higher");
  REQUIRE(rates["values"].size() == 4);
  for (std::size_t i = 0; i < 4; ++i)
    CHECK(rates["values"][i] == answer["epochs"][i]["images_per_second"]);
  CHECK(answer["batch_wait_percentiles"].size() == 101);
  std::uint64_t batches = 0;
  for (const auto& epoch : answer["epochs"])
    batches += epoch["batches"].get<std::uint64_t>();
  CHECK(answer["durations"]["batch_wait"]["count"] == batches);
  CHECK(answer["durations"]["sample_decode"]["count"] > 0);
  CHECK(answer["durations"]["block_read"]["p99_seconds"] >= 0);
  CHECK(answer["stages"].size() == 3);
  const nlohmann::json& decode = answer["stages"][1];
  CHECK(decode["images"] == 4 * 30);
  double shares = 0;
  std::set<std::string> parts;
  for (const auto& part : decode["parts"]) {
    shares += part["share"].get<double>();
    CHECK(parts.insert(part["name"]).second);
  }
  CHECK(shares == Approx(1));
  for (const char* const part : {"entropy", "resize", "checksum", "fields", "other"})
    CHECK(parts.contains(part));
  std::ifstream in(file);
  CHECK(nlohmann::json::parse(in) == answer);
}

TEST_CASE("a result that cannot be written is an error that names the file") {
  const Animals animals;
  const Outcome outcome = animals.Epoch({"--json-file", "/nowhere/at/all.json"});
  CHECK(outcome.exit_code == 1);
  CHECK_THAT(outcome.err, ContainsSubstring("/nowhere/at/all.json"));
}

TEST_CASE("a warning says that an epoch is too short, and --repeat makes it longer") {
  const Animals animals;
  const Outcome outcome = animals.Epoch({"--epochs", "3"});
  CHECK_THAT(outcome.out, ContainsSubstring("too short"));
  const nlohmann::json answer =
      animals.EpochJson({"--repeat", "5", "--batch-size", "8", "--epochs", "1"});
  CHECK(answer["epochs"][0]["images"] == 150);
  CHECK(answer["epochs"][0]["batches"] == 19);
  CHECK(answer["repeat"] == 5);
  const Outcome refused = animals.Epoch({"--repeat", "1000000"});  // the dataset has 30 samples
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("at most 20000000 samples"));
}

TEST_CASE("option --batches ends an epoch early") {
  const Animals animals;
  const nlohmann::json answer = animals.EpochJson({"--batches", "2", "--batch-size", "8"});
  for (const auto& epoch : answer["epochs"]) {
    CHECK(epoch["batches"] == 2);
    CHECK(epoch["images"] == 16);
  }
}

TEST_CASE("with a training step, training alone and loading alone are measured next to the epoch") {
  const Animals animals;
  const nlohmann::json answer = animals.EpochJson(
      {"--batch-size", "5", "--step-ms", "4", "--accelerators", "2", "--epochs", "2"});
  const nlohmann::json& pipeline = answer["pipeline"];
  // Six batches, two per step, at least 4 ms each.
  CHECK(pipeline["training_seconds"].get<double>() >= 0.012);
  CHECK(pipeline["loading_seconds"].get<double>() > 0);
  CHECK(pipeline["epoch_seconds"].get<double>() >= 0.012);
  CHECK(pipeline["ideal_seconds"].get<double>() ==
        std::max(pipeline["training_seconds"].get<double>(),
                 pipeline["loading_seconds"].get<double>()));
  for (const auto& epoch : answer["epochs"]) {
    CHECK(epoch["utilisation"].get<double>() > 0);
    CHECK(epoch["utilisation"].get<double>() <= 1);
    // Three steps of 4 ms, after the start of the epoch, in which nothing trains.
    CHECK(epoch["whole_utilisation"].get<double>() * epoch["seconds"].get<double>() ==
          Approx(0.012));
    CHECK(epoch["start_seconds"].get<double>() > 0);
    CHECK(epoch["start_seconds"].get<double>() <= epoch["seconds"].get<double>() - 0.012);
  }
  CHECK_FALSE(animals.EpochJson({}).contains("pipeline"));
}

TEST_CASE("option --step-busy takes CPU time, and sleeping does not") {
  const Animals animals;
  const Words common = {"--batch-size", "10", "--step-ms", "50", "--epochs", "1", "--warm-up", "0"};
  Words busy = common;
  busy.push_back("--step-busy");
  const nlohmann::json answer = animals.EpochJson(busy);
  CHECK(answer["step_busy"] == true);
  // A clock that counts in ticks may round down.
  CHECK(answer["epochs"][0]["cpu_seconds"].get<double>() >= 3 * 0.05 - 0.02);
  CHECK(animals.EpochJson(common)["step_busy"] == false);
}

TEST_CASE("option --pretend-decode delays each sample, and one in a hundred more") {
  const Animals animals;
  const nlohmann::json answer = animals.EpochJson(
      {"--pretend-decode", "1000,200", "--epochs", "1", "--warm-up", "0", "--threads", "16"});
  CHECK(answer["pretend_decode_us"] == 1000);
  CHECK(answer["pretend_slow"] == 200);
  // At least one sample is slow, and takes 200 times 1 ms.
  CHECK(answer["epochs"][0]["seconds"].get<double>() >= 0.2);
  CHECK(Bench({"epoch", animals.data(), "--pretend-decode", "1,2,3"}).exit_code == 2);
  CHECK(Bench({"epoch", animals.data(), "--pretend-decode", "5", "--floor"}).exit_code == 2);
}

TEST_CASE("several counts of threads give a curve") {
  const Animals animals;
  const nlohmann::json answer =
      animals.EpochJson({"--threads", "1,2", "--epochs", "2", "--batch-size", "8"});
  const nlohmann::json& points = answer["curve"]["points"];
  REQUIRE(points.size() == 2);
  CHECK(points[0]["threads"] == 1);
  CHECK(points[1]["threads"] == 2);
  CHECK(answer["measurements"][1]["name"] == "images_per_second.threads=2");
  CHECK(answer["measurements"][1]["values"].size() == 2);
  CHECK_THAT(animals.Epoch({"--threads", "1,2", "--epochs", "1"}).out,
             ContainsSubstring("serial share"));
  CHECK(animals.Epoch({"--threads", "1,x"}).exit_code == 2);
}

TEST_CASE("option --find-accelerators runs trials and reports how many accelerators are fed") {
  const Animals animals;
  const nlohmann::json answer =
      animals.EpochJson({"--find-accelerators", "--step-ms", "2", "--batch-size", "4"});
  const nlohmann::json& accelerators = answer["accelerators"];
  REQUIRE(accelerators["trials"].size() >= 2);
  CHECK(accelerators["trials"][0]["accelerators"] == 0);  // loading alone
  CHECK(accelerators["wanted_utilisation"] == 0.9);
  std::uint64_t most = 0;
  for (const auto& trial : accelerators["trials"]) {
    if (trial["accelerators"] > 0 && trial["utilisation"] >= 0.9)
      most = std::max(most, trial["accelerators"].get<std::uint64_t>());
  }
  CHECK(accelerators["fed"] == most);
  CHECK(animals.Epoch({"--find-accelerators"}).exit_code == 2);
}

TEST_CASE("options --html and --trace write a page and a trace of the last measured epoch") {
  const Animals animals;
  const TemporaryFolder folder;
  const std::string page = (folder / "page.html").string();
  const std::string trace = (folder / "trace.json").string();
  const Outcome outcome = animals.Epoch({"--html", page, "--trace", trace, "--threads", "2",
                                         "--batch-size", "8", "--also-cold", "1"});
  CHECK(outcome.exit_code == 0);
  std::ifstream file(trace);
  std::uint64_t decoded = 0;
  const nlohmann::json events = nlohmann::json::parse(file)["traceEvents"];
  for (const auto& event : events) {
    if (event["name"] == "decode") decoded += event["args"]["rows"].get<std::uint64_t>();
  }
  CHECK(decoded == 30);
  std::stringstream text;
  text << std::ifstream(page).rdbuf();
  CHECK_THAT(text.str(), ContainsSubstring("<svg"));
  CHECK_THAT(text.str(), ContainsSubstring("Timeline"));
  CHECK_THAT(text.str(), ContainsSubstring(">consumer<"));
  CHECK(animals.Epoch({"--trace", trace, "--threads", "1,2"}).exit_code == 2);
}

TEST_CASE("an interrupted sluice-bench epoch ends with 130") {
  const Animals animals;
  Running running(SLUICE_BENCH_COMMAND, {"epoch", animals.data(), "--step-ms", "20", "--batch-size",
                                         "1", "--epochs", "1000"});
  bool sent = false;
  const Outcome outcome = running.Wait([&](const Outcome& so_far) {
    if (!sent && so_far.out.find("warm-up") != std::string::npos) {
      running.Signal(SIGINT);
      sent = true;
    }
  });
  CHECK(outcome.exit_code == 130);
  CHECK_THAT(outcome.err, ContainsSubstring("interrupted"));
}

TEST_CASE("options that a search for accelerators or a curve would ignore are wrong usage") {
  const Animals animals;
  for (const Words& ignored :
       {Words{"--epochs", "2"}, Words{"--warm-up", "0"}, Words{"--repeat", "2"},
        Words{"--batches", "2"}, Words{"--accelerators", "2"}, Words{"--also-cold", "1"},
        Words{"--floor"}, Words{"--stops", "2"}, Words{"--trace", "trace.json"}}) {
    Words words = {"--find-accelerators", "--step-ms", "2"};
    words.insert(words.end(), ignored.begin(), ignored.end());
    CAPTURE(words);
    const Outcome outcome = animals.Epoch(words);
    CHECK(outcome.exit_code == 2);
    CHECK_THAT(outcome.err, ContainsSubstring(ignored.front()));
  }
  for (const Words& ignored : {Words{"--also-cold", "1"}, Words{"--floor"}, Words{"--stops", "2"},
                               Words{"--find-accelerators", "--step-ms", "2"}}) {
    Words words = {"--threads", "1,2"};
    words.insert(words.end(), ignored.begin(), ignored.end());
    CAPTURE(words);
    CHECK(animals.Epoch(words).exit_code == 2);
  }
  CHECK(animals.Epoch({"--cold", "--also-cold", "1"}).exit_code == 2);
}

TEST_CASE("an unwritable file is reported before anything is played") {
  const Animals animals;
  for (const char* option : {"--json-file", "--html", "--trace"}) {
    const Outcome outcome = animals.Epoch({option, "/nowhere/at/all"});
    CHECK(outcome.exit_code == 1);
    CHECK(outcome.out.empty());
    CHECK_THAT(outcome.err, ContainsSubstring("/nowhere/at/all"));
    CHECK(animals.Epoch({option, "/"}).exit_code == 1);
  }
}

TEST_CASE("a long transform is broken into lines of at most 100 columns") {
  const Animals animals;
  const Outcome outcome = animals.Epoch(
      {"--epochs", "1", "--transform",
       "rrc:32,flip,jitter:0.4/0.4/0.4/0.1,gray:0.2,blur:5/0.1/2,solarize:128,erase:0.25"});
  CHECK(outcome.exit_code == 0);
  for (std::size_t begin = 0; begin < outcome.out.size();) {
    const std::size_t end = outcome.out.find('\n', begin);
    CHECK(end - begin <= 100);
    begin = end + 1;
  }
}

TEST_CASE("options --view and --sizes reach the loader, the result and the text") {
  const Animals animals;
  const Words rows = {"--transform", "rrc:24", "--epochs", "1", "--warm-up", "0"};
  const nlohmann::json usual = animals.EpochJson(rows);
  CHECK(usual["views"].empty());
  CHECK(usual["sizes"] == "");
  Words words = rows;
  words.insert(words.end(), {"--view", "rrc:32,flip", "--view", "resize:16"});
  const nlohmann::json viewed = animals.EpochJson(words);
  CHECK(viewed["views"] == nlohmann::json{"rrc:32,flip", "resize:16"});
  CHECK(viewed["slot_bytes"].get<std::uint64_t>() >=
        usual["slot_bytes"].get<std::uint64_t>() + 256 * 3 * (32 * 32 + 16 * 16));
  words.push_back("--quiet");
  std::string text = animals.Epoch(words).out;
  std::replace(text.begin(), text.end(), '\n', ' ');
  CHECK_THAT(text, ContainsSubstring("view rrc:32,flip, view resize:16"));
  words = rows;
  words.insert(words.end(), {"--sizes", "20x10,28@1"});
  const nlohmann::json sized = animals.EpochJson(words);
  CHECK(sized["sizes"] == "20x10,28@1");
  CHECK(sized["image"]["width"] == 20);
  CHECK(sized["image"]["height"] == 10);
  for (const char* wrong : {"28@1", "28,20@0", "28,", "0"})
    CHECK(animals.Epoch({"--transform", "rrc:24", "--sizes", wrong}).exit_code == 2);
  CHECK(animals.Epoch({"--view", "smudge:3"}).exit_code == 2);
}

TEST_CASE("option --profile sets batch size and step time, and other options may override them") {
  const Animals animals;
  const Words quick = {"--profile", "mlperf-resnet50-h100", "--epochs", "1", "--warm-up", "0"};
  const nlohmann::json answer = animals.EpochJson(quick);
  CHECK(answer["batch_size"] == 400);
  CHECK(answer["step_ms"] == 224);
  Words own = quick;
  own.insert(own.end(), {"--batch-size", "10", "--step-ms", "1", "--quiet"});
  const Outcome outcome = animals.Epoch(own);
  CHECK(outcome.exit_code == 0);
  CHECK_THAT(outcome.out, ContainsSubstring("steps of 1 ms with 1 x 10 images; wanted 90.0%"));
  CHECK(animals.Epoch({"--profile", "abacus"}).exit_code == 2);
}

TEST_CASE("option --device-steps is recorded in the result") {
  const Animals animals;
  const Words short_run = {"--epochs", "1", "--warm-up", "0"};
  CHECK(animals.EpochJson(short_run)["device_steps"] == true);
  CHECK(animals.EpochJson({"--device-steps", "host", "--epochs", "1"})["device_steps"] == false);
  CHECK(animals.Epoch({"--device-steps", "nowhere"}).exit_code == 2);
}

TEST_CASE("option --device-decode needs a device, and is recorded in the result") {
  const Animals animals;
  CHECK(animals.EpochJson({"--epochs", "1", "--warm-up", "0"})["device_decode"] == "host");
  const Outcome outcome = animals.Epoch({"--device-decode", "device"});
  CHECK(outcome.exit_code == 2);
  CHECK_THAT(outcome.err, ContainsSubstring("needs a device"));
}

TEST_CASE("sluice-bench epoch names its own flags where the loader refuses an option") {
  const Animals animals;
  const TemporaryFolder folder;
  const auto at = [&](const char* name) { return (folder / name).string(); };
  WriteJpeg(folder / "grey.src/cat/g.jpg", MakePicture(40, 30, 1));
  WriteJpeg(folder / "colour.src/cat/c.jpg", MakePicture(40, 30));
  REQUIRE(Sluice({"convert", at("grey.src"), at("grey"), "--channels", "1"}).exit_code == 0);
  REQUIRE(Sluice({"convert", at("colour.src"), at("colour")}).exit_code == 0);
  REQUIRE(Sluice({"merge", at("grey"), at("colour"), at("both")}).exit_code == 0);
  Words words = {"epoch", at("both"), "--epochs", "1", "--warm-up", "0", "--threads", "1"};
  const Outcome refused = Run(SLUICE_BENCH_COMMAND, words);
  CHECK(refused.exit_code == 2);
  CHECK_THAT(refused.err, ContainsSubstring("set --channels to 1 or 3"));
  words.insert(words.end(), {"--channels", "1", "--json"});
  const Outcome played = Run(SLUICE_BENCH_COMMAND, words);
  INFO(played.err);
  CHECK(JsonOf(played)["channels"] == 1);
}

TEST_CASE("sluice-bench epoch has its own words for the loader's enumerators and ways of reading") {
  const Animals animals;
  const TemporaryFolder folder;
  const std::string other = (folder / "other").string();
  REQUIRE(Sluice({"subset", animals.data(), other, "--count", "10"}).exit_code == 0);
  const Outcome drawn =
      animals.Epoch({"--with", other, "--weights", "1,1", "--shuffle", "sequential"});
  CHECK(drawn.exit_code == 2);
  CHECK_THAT(drawn.err, ContainsSubstring("set --shuffle to quasi_random or random"));
  const Outcome direct = animals.Epoch({"--direct", "--shuffle", "random"});
  CHECK(direct.exit_code == 2);
  CHECK_THAT(direct.err, ContainsSubstring("--direct would read a whole block for each sample of "
                                           "random; use quasi_random, or leave these out"));
  const Outcome ranks = Run(SLUICE_BENCH_COMMAND, {"epoch", animals.data()},
                            {.environment = {"RANK=one", "WORLD_SIZE=2"}});
  CHECK(ranks.exit_code == 2);
  CHECK_THAT(ranks.err,
             ContainsSubstring("but both must be whole numbers; correct or unset them\n"));
  const Outcome large = animals.Epoch({"--max-pixels", "10"});
  CHECK_THAT(large.err, ContainsSubstring("with a larger --max-pixels\n"));
}

TEST_CASE("sluice-bench epoch plays several datasets as one, and images of their own sizes") {
  const Animals animals;
  const TemporaryFolder folder;
  const std::string other = (folder / "other").string();
  REQUIRE(Sluice({"subset", animals.data(), other, "--count", "10"}).exit_code == 0);
  const Words once = {"--epochs", "1", "--batch-size", "8"};
  const auto play = [&](Words more) {
    more.insert(more.end(), once.begin(), once.end());
    return animals.EpochJson(more);
  };
  const nlohmann::json all = play({"--with", other});
  CHECK((all["samples"] == 40 && all["epochs"][0]["images"] == 40 && all["with"][0] == other));
  // With weights of 2 and 1, the first dataset's 30 samples come with 15 of the other's.
  const nlohmann::json weighted = play({"--with", other, "--weights", "2,1", "--cold"});
  CHECK((weighted["samples"] == 40 && weighted["epochs"][0]["images"] == 45));
  const nlohmann::json own = play({"--image-sizes", "own", "--threads", "0"});
  CHECK((own["image_sizes"] == "own" && own["threads"] == 0 && own["image"]["height"] == 0));
  CHECK(own["transform"] == "none");
  CHECK(play({"--image-sizes", "padded"})["image"]["width"] == 40);
  CHECK(animals.Epoch({"--with", other, "--weights", "1"}).exit_code == 2);
  CHECK(animals.Epoch({"--with", other, "--floor"}).exit_code == 2);
  CHECK(animals.Epoch({"--image-sizes", "own", "--floor"}).exit_code == 2);
  CHECK(animals.Epoch({"--threads", "0,1"}).exit_code == 2);
}

TEST_CASE("sluice-bench epoch plays a folder without a conversion, and also measures one") {
  const Animals animals;
  const TemporaryFolder folder;
  const std::string index = (folder / "index").string();
  const nlohmann::json answer =
      JsonOf(Bench({"epoch", animals.source(), "--index", index, "--batch-size", "8", "--json"}));
  CHECK(answer["samples"] == 30);
  CHECK(std::filesystem::exists(index));
  const nlohmann::json& parts = answer["stages"][1]["parts"];
  std::set<std::string> names;
  for (const auto& part : parts)
    names.insert(part["name"]);
  for (const char* const part : {"files", "samples", "decode", "other"})
    CHECK(names.contains(part));
  CHECK(answer["conversion"]["samples"] == 30);
  CHECK(answer["conversion"]["played_images_per_second"].get<double>() > 0);
  CHECK(answer["conversion"]["converted_images_per_second"].get<double>() > 0);
  const Outcome text = Bench({"epoch", animals.source(), "--batch-size", "8", "--epochs", "2"});
  CHECK(text.exit_code == 0);
  CHECK_THAT(text.out, ContainsSubstring("a converted dataset would be"));
  CHECK_THAT(text.out, ContainsSubstring("--quality keep --no-resize"));
}

TEST_CASE("sluice-bench epoch plays a folder with label files") {
  const Animals animals;
  const TemporaryFolder folder;
  nlohmann::json coco = {{"images", nlohmann::json::array()}};
  coco["categories"].push_back({{"id", 7}, {"name", "head"}});
  for (const auto& entry : std::filesystem::recursive_directory_iterator(animals.source())) {
    const std::size_t id = coco["images"].size();
    if (!entry.is_regular_file() || id == 12) continue;
    coco["images"].push_back(
        {{"id", id},
         {"file_name", std::filesystem::relative(entry.path(), animals.source()).string()},
         {"width", 40},
         {"height", 30}});
    coco["annotations"].push_back(
        {{"id", id}, {"image_id", id}, {"category_id", 7}, {"bbox", {1, 2, 10, 12}}});
  }
  const std::string file = (folder / "labels.json").string();
  WriteBytes(file, coco.dump());
  const Outcome played = Bench({"epoch", animals.source(), "--coco", file, "--batch-size", "4"});
  INFO(played.err);
  CHECK(played.exit_code == 0);
  CHECK_THAT(played.out, ContainsSubstring("12 samples"));
  CHECK_THAT(played.out, ContainsSubstring("--coco"));
  CHECK(Bench({"epoch", animals.source(), "--coco", file, "--voc", file}).exit_code == 2);
}

TEST_CASE("sluice-bench epoch compiles a folder that it plays") {
  const Animals animals;
  const TemporaryFolder folder;
  const std::string data = (folder / "data").string();
  const Words command = {"epoch", animals.source(), "--compile-to", data, "--batch-size", "8"};
  for (bool finished = false; !finished;
       finished = std::filesystem::exists(folder / "data" / "manifest.json")) {
    const Outcome outcome = Bench(command);
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
  }
  const Outcome converted =
      Sluice({"convert", animals.source(), data, "--quality", "keep", "--no-resize"});
  INFO(converted.err);
  CHECK(converted.exit_code == 0);  // it finds its own, finished
  CHECK(Bench(command).exit_code == 0);
  CHECK(Bench({"epoch", animals.data(), "--compile-to", data}).exit_code == 2);
}

TEST_CASE("for a folder, sluice-bench epoch refuses options that need a dataset, and vice versa") {
  const Animals animals;
  for (const char* const flag : {"--floor", "--cold"}) {
    const Outcome outcome = Bench({"epoch", animals.source(), flag});
    CHECK(outcome.exit_code == 2);
    CHECK_THAT(outcome.err, ContainsSubstring("played without a conversion"));
  }
  const Outcome indexed = Bench({"epoch", animals.data(), "--index", "somewhere"});
  CHECK(indexed.exit_code == 2);
  CHECK_THAT(indexed.err, ContainsSubstring("--index is for a source"));
}

}  // namespace sluice::test
