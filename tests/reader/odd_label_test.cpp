// Labels whose number is not one of their classes. Only forged or damaged datasets have them.
#include <sluice/loader.h>
#include <sluice/sample_list.h>
#include <sluice/verify.h>

#include "tests/catch.h"
#include "tests/format/built_shard.h"
#include "tests/reader/playing.h"
#include "tests/temporary_folder.h"

using namespace sluice;
using namespace sluice::test;
using Catch::Matchers::ContainsSubstring;

namespace {

// A schema in which the classes of boxes come before the label.
Schema BoxesAndLabel() {
  Field boxes = Field::Variable("box classes", DType::kInt32, {});
  boxes.role = Role::kLabel;
  boxes.classes = {"wheel"};
  return {{Field::Image(), boxes, Field::Label("label", {"cat", "dog"})}};
}

Dataset WriteLabels(const TemporaryFolder& folder, const std::vector<std::int32_t>& labels) {
  const Schema schema = BoxesAndLabel();
  std::vector<EncodedSample> samples;
  for (const std::int32_t label : labels) {
    samples.push_back(
        {"key-" + std::to_string(samples.size()),
         {ImageValue(2, 1, 1, "xy"), FieldValue{}, ArrayValue<std::int32_t>({label})}});
  }
  const std::vector<BuiltShard> shards = {BuildShard(schema, IdOf(1), 4, samples)};
  WriteDataset(folder.path(), ManifestOf("labels", schema, shards, samples), shards);
  return Dataset::Open(folder.path());
}

}  // namespace

TEST_CASE("verify names the samples whose label is not a class") {
  const TemporaryFolder folder;
  const Dataset dataset = WriteLabels(folder, {0, 1, -1, 0, 1, 2});
  CHECK(dataset.class_counts() == std::vector<std::uint64_t>{2, 2});
  const VerifyReport report = VerifyDataset(folder.path());
  REQUIRE(report.faults.size() == 2);
  CHECK(report.faults[0].shard == "shard-00000.sluice");
  CHECK(report.faults[0].sample == 2);
  CHECK(report.faults[0].key == "key-2");
  CHECK_THAT(report.faults[0].reason, ContainsSubstring("field \"label\""));
  CHECK_THAT(report.faults[0].reason, ContainsSubstring("-1"));
  CHECK(report.faults[1].sample == 5);
}

TEST_CASE("A class-balanced list leaves out samples whose label is not a class") {
  const TemporaryFolder folder;
  const Dataset dataset = WriteLabels(folder, {0, 1, -1, 0, 1, 2});
  LoaderOptions options;
  options.batch_size = 2;
  options.order.samples = SampleList::ClassBalanced(dataset, 10);
  REQUIRE(options.order.samples.size() == 20);  // of two classes, and not of four
  Loader loader(dataset, options);
  for (const Batch& batch : loader.Epoch(0)) {
    for (const std::int32_t label : batch.Field<std::int32_t>("label"))
      REQUIRE((label == 0 || label == 1));
  }
}

TEST_CASE("OneHot uses the label whose classes are counted, and refuses numbers beyond them") {
  const TemporaryFolder folder;
  const Dataset dataset = WriteLabels(folder, {0, 1, -1, 0, 1, 2});
  LoaderOptions options;
  options.batch_size = 6;
  options.order.shuffle = Shuffle::kSequential;
  options.integrity.on_fault = OnFault::kSkip;
  options.transform = {OneHot{}};
  Loader loader(dataset, options);
  std::vector<float> targets;
  for (const Batch& batch : loader.Epoch(0)) {
    const auto field = batch.Field<float>("target");
    targets.insert(targets.end(), field.begin(), field.end());
  }
  targets.resize(8);
  CHECK(targets == std::vector<float>{1, 0, 0, 1, 1, 0, 0, 1});
  REQUIRE(loader.Faults().size() == 2);
  CHECK(loader.Faults()[0].sample == 2);
  CHECK(loader.Faults()[1].sample == 5);
}
