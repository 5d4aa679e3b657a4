#include "tests/fuzz/forged_dataset.h"

#include <optional>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "format/disk/checksum.h"
#include "format/disk/file.h"
#include "format/disk/schema_json.h"
#include "format/disk/shard.h"
#include "format/disk/value_totals.h"
#include "tests/format/built_shard.h"
#include "tests/fuzz/forged_samples.h"
#include "tests/fuzz/forged_shard.h"
#include "tests/fuzz/reseal.h"
#include "writer/convert/options.h"

namespace sluice::fuzz {

namespace {

using nlohmann::json;
using File = std::vector<std::byte>;
constexpr std::size_t kMostChanges = 8;

struct Head {
  std::uint8_t form;
  std::uint8_t left;  // bits of Disagreement
  std::uint16_t use;
};
static_assert(sizeof(Head) == 4);

void FindNodes(json& node, std::vector<json*>& nodes) {
  nodes.push_back(&node);
  if (!node.is_structured()) return;
  for (json& child : node)
    FindNodes(child, nodes);
}

void ChangeJson(json& document, const Change& change) {
  static const json kOther[] = {nullptr, true,  -1, 1.5,           "",
                                "image", "../", {}, json::array(), std::string(70000, 's')};
  std::vector<json*> nodes;
  FindNodes(document, nodes);
  json& node = *nodes[change.at % nodes.size()];
  switch (change.size % 8) {
    case 0: {
      const json copy = *nodes[change.number % nodes.size()];
      node = copy;
      return;
    }
    case 1: node = kOther[change.number % std::size(kOther)]; return;
    case 2:
      if (node.is_array() && !node.empty()) node.push_back(node[change.field % node.size()]);
      return;
    case 3:
    case 4:
      if (node.is_structured() && !node.empty()) {
        auto child = node.begin();
        std::advance(child, change.field % node.size());
        node.erase(child);
      }
      return;
    default:
      if (node.is_number() || change.size % 8 == 7) {
        node = NumberFor(change, node.is_number() ? node.get<std::uint64_t>() : 0);
      }
      return;
  }
}

// Numbers of samples and blocks that the manifest's reader compares with each other.
void MakeSumsAgree(json& manifest) {
  std::uint64_t samples = 0;
  if (!manifest.contains("shards") || !manifest["shards"].is_array()) return;
  for (json& line : manifest["shards"]) {
    if (!line.is_object() || !line.contains("samples") || !line.contains("block_samples") ||
        !line["samples"].is_number_unsigned() || !line["block_samples"].is_number_unsigned()) {
      return;
    }
    const auto count = line["samples"].get<std::uint64_t>();
    const std::uint64_t in_block =
        std::max(line["block_samples"].get<std::uint64_t>(), std::uint64_t{1});
    line["blocks"] = count / in_block + (count % in_block != 0 ? 1 : 0);
    samples += count;
  }
  manifest["samples"] = samples;
}

std::string Sealed(json manifest) {
  if (!manifest.is_object()) return manifest.dump();
  manifest.erase("id");
  const std::string text =
      "\"," + manifest.dump(-1, ' ', false, json::error_handler_t::replace).substr(1);
  return "{\"id\":\"" + ToHex(Hash128(AsBytes(text))) + text;
}

class Forgery {
 public:
  explicit Forgery(std::uint8_t form) : form_(form % kForms), schema_(SchemaOf(form_)) {
    static const std::vector<std::vector<EncodedSample>> all = [] {
      std::vector<std::vector<EncodedSample>> samples;
      for (std::uint8_t f = 0; f < kForms; ++f)
        samples.push_back(SamplesOf(f));
      return samples;
    }();
    samples_ = sound_ = all[form_];
  }

  void Make(std::span<const Change> changes, std::uint8_t left) {
    for (const Change& change : changes) {
      if (change.place > kKey) continue;
      for (std::size_t s = 0; s < samples_.size(); ++s) {
        if (change.which != 255 && change.which % samples_.size() != s) continue;
        ChangeSample(samples_[s], sound_[change.number / 7 % sound_.size()], change);
      }
    }
    json schema = json::parse(SchemaToJson(schema_));
    for (const Change& change : changes) {
      if (change.place == kSchema) ChangeJson(schema, change);
    }
    BuildShards(changes, left, schema.dump());
    BuildManifest(changes, left, schema);
    ChangeFiles(changes);
  }

  void Write(const std::filesystem::path& folder) const {
    const auto write = [&folder](const std::string& name, Bytes content) {
      const FileHandle file(open((folder / name).c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666));
      if (::write(file.get(), content.data(), content.size()) !=
          static_cast<ssize_t>(content.size())) {
        std::perror("no file can be written");
        std::exit(2);
      }
    };
    for (std::size_t s = 0; s < files_.size(); ++s) {
      if (files_[s]) write("shard-0000" + std::to_string(s) + ".sluice", *files_[s]);
    }
    if (!manifest_.empty()) write(kManifestName, AsBytes(manifest_));
  }

 private:
  void BuildShards(std::span<const Change> changes, std::uint8_t left, const std::string& schema) {
    const std::span<const EncodedSample> all(samples_);
    const json origin = {{"options", OptionsToJson({})}};
    for (std::size_t s = 0; s < 2; ++s) {
      test::BuiltShard shard = test::BuildShard(
          schema_, test::IdOf(static_cast<std::uint8_t>(16 * form_ + s + 1)), 3,
          s == 0 ? all.first(7) : all.subspan(7), {{kSectionOrigin, origin.dump()}});
      if ((left & kShardSchemas) == 0) SetSchema(shard.bytes, schema);
      const File sound = shard.bytes;
      for (const Change& change : changes) {
        if (change.place < kHeader || change.place > kTail || change.field % 2 != s) continue;
        ChangeWord(PartOf(sound, shard.bytes, change), change);
      }
      MakeAgree(sound, shard.bytes, left);
      if ((left & kUnsealed) == 0) ResealShard(shard.bytes);
      FollowShard(shard.bytes, shard.entry, left);
      files_.emplace_back(shard.bytes);
      shards_.push_back(std::move(shard));
    }
  }

  void BuildManifest(std::span<const Change> changes, std::uint8_t left, const json& schema) {
    Manifest manifest = test::ManifestOf("forged", schema_, shards_, sound_);
    const std::vector<EncodedSample>& summed = (left & kTotals) == 0 ? samples_ : sound_;
    manifest.images.clear();
    if ((left & kNoValues) == 0) manifest.values = NoValues(schema_);
    for (std::size_t f = 0, values = 0; f < schema_.fields.size(); ++f) {
      const Field& field = schema_.fields[f];
      if (field.kind == FieldKind::kImage) manifest.images.emplace_back();
      for (const EncodedSample& sample : summed) {
        const FieldValue& value = sample.fields[f];
        if (value.codec == Codec::kAbsent) continue;
        if (field.kind == FieldKind::kImage) {
          manifest.images.back().Add(value.width, value.height, value.channels,
                                     static_cast<std::uint32_t>(value.pixel_type),
                                     value.bytes.size());
        } else if (HasValues(field) && !manifest.values.empty()) {
          AddValue(value.codec, value.bytes, manifest.values[values]);
        }
      }
      values += HasValues(field) ? 1 : 0;
    }
    manifest.made = json{{"options", OptionsToJson({})}}.dump();
    Id128 id;
    json document = json::parse(ManifestToJson(manifest, id));
    document["schema"] = schema;
    for (const Change& change : changes) {
      if (change.place == kManifest) ChangeJson(document, change);
      if (change.place == kShardLine && document.contains("shards")) {
        ChangeJson(document["shards"], change);
      }
    }
    if ((left & kSums) == 0) MakeSumsAgree(document);
    manifest_ = Sealed(document);
  }

  void ChangeFiles(std::span<const Change> changes) {
    for (const Change& change : changes) {
      std::optional<File>& file = files_[change.field % files_.size()];
      if (change.place == kExchanged) std::swap(files_[0], files_[1]);
      if (change.place == kMissing && change.which == 255) manifest_.clear();
      if (change.place == kMissing && change.which != 255) file.reset();
      if (change.place == kSize && file) file->resize(change.number % (file->size() + 4096));
    }
  }

  std::uint8_t form_;
  Schema schema_;
  std::vector<EncodedSample> sound_;
  std::vector<EncodedSample> samples_;
  std::vector<test::BuiltShard> shards_;
  std::vector<std::optional<File>> files_;
  std::string manifest_;
};

}  // namespace

std::uint16_t ForgeDataset(Bytes input, const std::filesystem::path& folder) {
  InputReader reader(input);
  const auto head = reader.Take<Head>();
  std::vector<Change> changes;
  while (!reader.empty() && changes.size() < kMostChanges) {
    changes.push_back(reader.Take<Change>());
    changes.back().place %= kPlaces;
  }
  Forgery forgery(head.form);
  forgery.Make(changes, head.left);
  forgery.Write(folder);
  return head.use;
}

void WriteSoundDataset(std::uint8_t form, const std::filesystem::path& folder) {
  Forgery forgery(form);
  forgery.Make({}, 0);
  forgery.Write(folder);
}

std::vector<Input> ForgedSeeds() {
  std::vector<Input> seeds;
  const auto add = [&seeds](const Head& head, const Change* change) {
    Input seed(sizeof(head) + (change != nullptr ? sizeof(*change) : 0));
    StoreAt(seed, 0, head);
    if (change != nullptr) StoreAt(seed, sizeof(head), *change);
    seeds.push_back(std::move(seed));
  };
  for (std::uint8_t form = 0; form < kForms; ++form)
    add({form, 0, static_cast<std::uint16_t>(form * 0x2F1D)}, nullptr);
  for (std::uint8_t place = 0; place < kPlaces; ++place) {
    const Change change{place, place, place, 2, static_cast<std::uint16_t>(place * 7), place, 77};
    add({static_cast<std::uint8_t>(place % kForms), 0, place}, &change);
  }
  // Every sample has values of 2^22 zeros, which the manifest does not mention.
  for (const std::uint8_t left : {std::uint8_t{kTotals}, std::uint8_t{kTotals | kNoValues}}) {
    for (const auto& [place, number] : {std::pair{kZeros, 22U}, {kZeroImage, 11U + 11U * 16}}) {
      const Change change{
          place, 255, 1, 0, 0, place == kZeros ? std::uint16_t{6} : std::uint16_t{0}, number};
      add({1, left, 0}, &change);
    }
  }
  return seeds;
}

void MutateForgery(Input& input, const Input& other, RandomStream& random) {
  input.resize(std::max(input.size(), sizeof(Head)));
  std::size_t changes = std::min((input.size() - sizeof(Head)) / sizeof(Change), kMostChanges);
  input.resize(sizeof(Head) + changes * sizeof(Change));
  const auto any_byte = [&random] { return static_cast<std::byte>(random.Below(256)); };
  for (std::uint64_t left = random.Below(3) + 1; left > 0; --left) {
    const std::uint64_t choice = random.Below(8);
    if (choice == 0) {  // the head, most of its bits clear
      input[0] = any_byte();
      input[1] = any_byte() & any_byte() & any_byte();
      input[2] = any_byte();
      input[3] = any_byte();
    } else if (choice < 4 && changes < kMostChanges) {
      for (std::size_t i = 0; i < sizeof(Change); ++i)
        input.push_back(any_byte());
      ++changes;
    } else if (choice == 4 && changes > 1) {
      input.resize(input.size() - sizeof(Change));
      --changes;
    } else if (changes > 0) {
      input[sizeof(Head) + random.Below(changes * sizeof(Change))] = any_byte();
    }
  }
  if (changes < kMostChanges && other.size() >= sizeof(Head) + sizeof(Change) &&
      random.Below(8) == 0) {
    input.insert(input.end(), other.begin() + sizeof(Head),
                 other.begin() + sizeof(Head) + sizeof(Change));
  }
}

}  // namespace sluice::fuzz
