// How batches and user functions give access to fields.
#include <algorithm>

#include "tests/reader/playing.h"
#include "tests/reader/street_data.h"

using namespace sluice;
using namespace sluice::test;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("Asking for a field in a wrong form gives an error that says how to ask") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteStreet(folder, 10));
  Loader loader(dataset, OptionsFor(4, 1));
  const Batch batch = *loader.Epoch(0).begin();
  const auto refusal = [](const std::function<void()>& action) {
    return ErrorText(action, ErrorCode::kInvalidArgument);
  };
  CHECK_THAT(refusal([&] { batch.Field<float>("boxes"); }),
             ContainsSubstring("use Variable<T>(), where T is float32"));
  CHECK_THAT(refusal([&] { batch.DeviceField<float>("boxes"); }),
             ContainsSubstring("use Variable<T>()"));
  CHECK_THAT(refusal([&] { batch.Variable<float>("pose"); }),
             ContainsSubstring("use Field<T>(), where T is float32"));
  CHECK_THAT(refusal([&] { batch.Variable<float>("caption"); }),
             ContainsSubstring("use Bytes() or Text()"));
  CHECK_THAT(refusal([&] { batch.Bytes("boxes"); }), ContainsSubstring("use Variable<T>()"));
  CHECK_THAT(refusal([&] { batch.Field<float>("mask"); }),
             ContainsSubstring("use image(\"mask\")"));
  CHECK_THAT(refusal([&] { batch.Field<float>("image"); }),
             ContainsSubstring("use image(\"image\")"));
  CHECK_THAT(refusal([&] { batch.image("label"); }), ContainsSubstring("use Field<T>()"));
  CHECK_THAT(refusal([&] { batch.VariableArray("label"); }), ContainsSubstring("use Field<T>()"));
  CHECK_THAT(refusal([&] { batch.Field<float>("depth"); }), ContainsSubstring("leaves it out"));
}

TEST_CASE("A function that asks for a field in a wrong form gets an error that says how to ask") {
  const TemporaryFolder folder;
  const Dataset dataset = Dataset::Open(WriteStreet(folder, 10));
  const auto refusal = [&](const std::string& field) {
    LoaderOptions options = OptionsFor(4, 1);
    options.sample_function = [field](MutableSample& sample) { sample.Field<float>(field); };
    Loader loader(dataset, options);
    return ErrorText([&] { loader.Epoch(0).begin(); }, ErrorCode::kInvalidArgument);
  };
  CHECK_THAT(refusal("boxes"), ContainsSubstring("use Variable<T>(), where T is float32"));
  CHECK_THAT(refusal("blob"), ContainsSubstring("use Variable<std::byte>()"));
}

TEST_CASE("A field of any length can be read without knowing its type") {
  const TemporaryFolder folder;
  Loader loader(Dataset::Open(WriteStreet(folder, 10)), OptionsFor(10, 2));
  const Batch batch = *loader.Epoch(0).begin();
  const VariableBatch boxes = batch.VariableArray("boxes");
  const VariableValues<float> values = batch.Variable<float>("boxes");
  CHECK(boxes.type == DType::kFloat32);
  CHECK(std::ranges::equal(boxes.shape, std::vector<std::uint32_t>{4}));
  CHECK(std::ranges::equal(boxes.offsets, values.offsets));
  CHECK(boxes.bytes == 13 * 16);  // 0, 1, 2, 3, 0, 1, 2, 3, 0, 1 boxes of four floats
  CHECK(static_cast<const void*>(boxes.data) == values.values.data());
  const VariableBatch caption = batch.VariableArray("caption");
  CHECK((caption.type == DType::kUint8 && caption.shape.empty()));
  CHECK(caption.bytes == caption.offsets.back());
  CHECK((batch.HoldsVariable("blob") && !batch.HoldsVariable("label")));
}

TEST_CASE("A batch lists its fields, and has each of them") {
  const TemporaryFolder folder;
  LoaderOptions options = OptionsFor(4, 1);
  options.output.fields = {"image", "label", "boxes", "caption"};
  options.output.made_fields = {Field::Array("weight", DType::kFloat32, {})};
  options.sample_function = [](MutableSample&) {};
  Loader loader(Dataset::Open(WriteStreet(folder, 10)), options);
  const Batch batch = *loader.Epoch(0).begin();
  std::vector<std::string> fields = batch.fields();
  CHECK(fields.front() == "image");
  std::sort(fields.begin(), fields.end());
  CHECK(fields == std::vector<std::string>{"boxes", "caption", "image", "label", "weight"});
}
