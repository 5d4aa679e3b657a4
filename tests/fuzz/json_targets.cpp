// Manifests, receipts and schemas.
#include <nlohmann/json.hpp>

#include <sluice/error.h>

#include "format/disk/checksum.h"
#include "format/disk/json.h"
#include "format/disk/manifest.h"
#include "format/disk/record_layout.h"
#include "format/disk/shard.h"
#include "tests/format/example.h"
#include "tests/fuzz/targets.h"
#include "writer/convert/planned_shard.h"

namespace sluice::fuzz {

namespace {

constexpr std::string_view kOpening = "{\"id\":\"";
constexpr std::size_t kIdDigits = 32;

void ReadManifestText(std::string_view text) {
  Manifest manifest;
  Id128 id, written, again;
  try {
    manifest = ManifestFromJson(text, "manifest.json", id);
  } catch (const Error&) {
    return;
  }
  const std::string back = ManifestToJson(manifest, written);
  const Manifest second = ManifestFromJson(back, "manifest.json", again);
  Promise(again == written, "a manifest that was written has the id that writing it returned");
  Promise(second.schema == manifest.schema && second.shards == manifest.shards &&
              second.images == manifest.images && second.values == manifest.values &&
              second.made == manifest.made && second.name == manifest.name &&
              second.class_counts == manifest.class_counts && second.samples == manifest.samples,
          "a manifest survives its text form");
}

}  // namespace

// Reads the input twice: as a whole manifest, and as the text after the id, with the right id
// before it.
void RunManifest(Bytes input) {
  ReadManifestText(AsText(input));
  std::string text(kOpening);
  text += ToHex(Hash128(input));
  text += AsText(input);
  ReadManifestText(text);
}

std::vector<Input> ManifestSeeds() {
  std::vector<Input> seeds;
  for (const auto& dataset : {test::WorkedExample(), test::VariedExample()}) {
    Id128 id;
    const std::string text = ManifestToJson(dataset.manifest, id);
    seeds.push_back(ToInput(text.substr(kOpening.size() + kIdDigits)));
  }
  seeds.push_back(ToInput(
      R"(","format":"sluice-dataset","version":1,"requires":[],"name":"","samples":0,"schema":)"
      R"({"fields":[{"name":"a","kind":"bytes"}]},"images":[],"class_counts":[],"made":{},"shards":[]})"));
  return seeds;
}

// Reads the input twice: as a whole receipt, and as a manifest (the text after its id) in a receipt
// that is otherwise sound.
void RunReceipt(Bytes input) {
  const Schema schema = test::WorkedExample().manifest.schema;
  const Plan plan = BeginPlan({}, {});
  const std::string manifest =
      std::string(kOpening) + ToHex(Hash128(input)) + std::string(AsText(input));
  nlohmann::ordered_json forged;
  forged["plan"] = ToHex(plan.digest);
  forged["origin"] = OriginToJson({3, 0, true, {}, {}, 0, 0, 0});
  forged["parts"] = {manifest};
  std::string text;
  try {
    text = forged.dump();
  } catch (const nlohmann::json::exception&) {
    text = "";  // not UTF-8
  }
  for (const std::string_view one : {AsText(input), std::string_view(text)}) {
    const std::optional<MadeShard> made = MadeByReceipt(one, plan, schema, 3);
    if (!made) continue;
    const std::optional<MadeShard> again =
        MadeByReceipt(ReceiptText(plan, schema, *made), plan, schema, 3);
    Promise(again && again->parts.size() == made->parts.size(), "a receipt survives its text form");
    for (std::size_t part = 0; part < made->parts.size(); ++part)
      Promise(again->parts[part].shard == made->parts[part].shard,
              "the shards of a receipt survive its text form");
  }
}

std::vector<Input> ReceiptSeeds() {
  const Schema schema = test::WorkedExample().manifest.schema;
  const Plan plan = BeginPlan({}, {});
  MadeShard made;
  made.origin.shard = 3;
  made.origin.last = true;
  std::vector<Input> seeds = {ToInput(ReceiptText(plan, schema, made))};
  made.parts.push_back(
      {NoTotals(schema), {"shard-00003.sluice", ShardIdOf(plan, 3, 0), {}, 1, 1, 8, 8192}});
  const std::string text = ReceiptText(plan, schema, made);
  seeds.push_back(ToInput(text));
  const std::string manifest = nlohmann::json::parse(text)["parts"][0];
  seeds.push_back(ToInput(manifest.substr(kOpening.size() + kIdDigits)));
  return seeds;
}

void RunSchema(Bytes input) {
  Schema schema;
  try {
    schema = SchemaFromJson(AsText(input), "schema");
  } catch (const Error&) {
    return;
  }
  Promise(SchemaFromJson(SchemaToJson(schema), "schema") == schema,
          "a schema survives its text form");
  const RecordLayout layout(schema);
  for (std::size_t f = 0; f < schema.fields.size(); ++f) {
    Promise(Inside(layout.offset(f), layout.entry_bytes(f), layout.record_bytes()),
            "entries lie inside of rows");
  }
  Promise(ColumnFields(schema).size() <= schema.fields.size(), "columns are fields");
}

std::vector<Input> SchemaSeeds() {
  return {ToInput(SchemaToJson(test::WorkedExample().schema)),
          ToInput(SchemaToJson(test::VariedExample().schema)),
          ToInput(R"({"fields":[{"name":"a","kind":"array","dtype":"float32","shape":[2,3,4]}]})")};
}

}  // namespace sluice::fuzz
