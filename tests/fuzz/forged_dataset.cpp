#include "tests/fuzz/forged_dataset.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "format/disk/checksum.h"
#include "format/disk/file.h"
#include "format/disk/json.h"
#include "format/disk/manifest.h"
#include "format/disk/shard.h"
#include "format/disk/zstd.h"
#include "format/pixels/packed/pack.h"
#include "tests/format/built_shard.h"
#include "tests/fuzz/jpeg_mutate.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/reseal.h"
#include "tests/pictures.h"
#include "writer/convert/options.h"

namespace sluice::fuzz {

std::uint64_t NumberFor(const Change& change, std::uint64_t old) {
  static constexpr std::uint64_t kSpecial[] = {
      0,     1,          2,          255,        4095,       4096,       65535,
      65536, 0x7FFFFFFF, 0xFFFFFFFF, 1ULL << 48, 1ULL << 53, 1ULL << 63, UINT64_MAX};
  constexpr std::size_t kOthers = 6;
  const std::size_t choice = change.value % (std::size(kSpecial) + kOthers);
  switch (choice) {
    case 0: return old + 1;
    case 1: return old - 1;
    case 2: return old * 2;
    case 3: return old ^ 1ULL << change.number % 64;
    case 4: return change.number % 64;
    case 5: return change.number;
    default: return kSpecial[choice - kOthers];
  }
}

void ChangeWord(std::span<std::byte> bytes, const Change& change) {
  const std::size_t size = std::size_t{1} << change.size % 4;
  if (bytes.size() < size) return;
  const std::size_t at = change.at % (bytes.size() / size) * size;
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + at, size);
  word = NumberFor(change, word);
  std::memcpy(bytes.data() + at, &word, size);
}

std::span<std::byte> PartOf(Bytes sound, std::span<std::byte> file, const Change& change) {
  const std::size_t tail_at = sound.size() - sizeof(ShardTail);
  const auto tail = LoadAt<ShardTail>(sound, tail_at);
  const auto directory = LoadAt<DirectoryHeader>(sound, tail.directory_offset);
  const std::size_t blocks_at = tail.directory_offset + sizeof(DirectoryHeader);
  const auto block =
      LoadAt<BlockEntry>(sound, blocks_at + change.which % directory.blocks * sizeof(BlockEntry));
  const auto section =
      LoadAt<SectionEntry>(sound, blocks_at + directory.blocks * sizeof(BlockEntry) +
                                      change.which % directory.sections * sizeof(SectionEntry));
  switch (change.place) {
    case kHeader: return file.first(sizeof(ShardHeader));
    case kBlock: return file.subspan(block.offset, sizeof(BlockHeader));
    case kTable:
      return file.subspan(
          block.offset + sizeof(BlockHeader),
          std::size_t{block.count} * LoadAt<BlockHeader>(sound, block.offset).record_bytes);
    case kSection: return file.subspan(section.offset, section.bytes);
    case kDirectory: return file.subspan(tail.directory_offset, tail.directory_bytes);
    default: return file.subspan(tail_at);
  }
}

void SetSchema(std::span<std::byte> file, const std::string& text) {
  auto header = LoadAt<ShardHeader>(file, 0);
  if (sizeof(header) + text.size() > header.header_bytes) return;
  const auto place = file.subspan(sizeof(header), header.header_bytes - sizeof(header));
  std::fill(place.begin(), place.end(), std::byte{0});
  std::copy_n(AsBytes(text).begin(), text.size(), place.begin());
  header.schema_bytes = static_cast<std::uint32_t>(text.size());
  StoreAt(file, 0, header);
}

void MakeAgree(Bytes sound, std::span<std::byte> file, std::uint8_t left) {
  const Id128 id = LoadAt<ShardHeader>(file, 0).shard_id;
  const std::size_t tail_at = sound.size() - sizeof(ShardTail);
  auto tail = LoadAt<ShardTail>(file, tail_at);
  const std::uint64_t directory_at = LoadAt<ShardTail>(sound, tail_at).directory_offset;
  const std::uint32_t blocks = LoadAt<DirectoryHeader>(sound, directory_at).blocks;
  auto directory = LoadAt<DirectoryHeader>(file, directory_at);
  std::uint64_t samples = 0;
  for (std::uint32_t b = 0; b < blocks; ++b) {
    const std::size_t entry_at = directory_at + sizeof(directory) + b * sizeof(BlockEntry);
    auto entry = LoadAt<BlockEntry>(file, entry_at);
    const std::uint64_t block_at = LoadAt<BlockEntry>(sound, entry_at).offset;
    auto block = LoadAt<BlockHeader>(file, block_at);
    if ((left & kIds) == 0) block.shard_id = id;
    StoreAt(file, block_at, block);
    samples += block.count;
    if ((left & kCounts) != 0) continue;
    entry.bytes = block.bytes;
    entry.count = block.count;
    StoreAt(file, entry_at, entry);
  }
  if ((left & kCounts) == 0) directory.samples = samples;
  if ((left & kIds) == 0) directory.shard_id = tail.shard_id = id;
  StoreAt(file, directory_at, directory);
  StoreAt(file, tail_at, tail);
}

void FollowShard(Bytes file, ManifestShard& line, std::uint8_t left) {
  line.bytes = file.size();
  if (file.size() < sizeof(ShardHeader) + sizeof(ShardTail)) return;
  const Bytes tail = file.last(sizeof(ShardTail));
  const auto end = LoadAt<ShardTail>(tail, 0);
  if (!Inside(end.directory_offset, end.directory_bytes, file.size())) return;
  const Bytes directory = file.subspan(end.directory_offset, end.directory_bytes);
  line.digest = Hash128({directory, tail});
  if ((left & kShardLines) != 0 || directory.size() < sizeof(DirectoryHeader)) return;
  const auto header = LoadAt<ShardHeader>(file, 0);
  const auto counts = LoadAt<DirectoryHeader>(directory, 0);
  line.id = header.shard_id;
  line.block_samples = header.block_samples;
  line.samples = counts.samples;
  line.blocks = counts.blocks;
}

namespace {

using File = std::vector<std::byte>;

FieldValue Compressed(std::string_view content) {
  return test::PayloadValue(AsText(ZstdCompress(AsBytes(content))), Codec::kZstd);
}

FieldValue PictureValue(std::uint8_t form, std::uint32_t seed) {
  constexpr std::uint32_t kWidth = 24, kHeight = 16;
  const test::Picture picture = test::MakePicture(kWidth, kHeight, 3, seed);
  const std::string_view pixels = AsText(std::as_bytes(std::span(picture.pixels)));
  switch (form) {
    case 2: {
      packed::Coefficients coefficients;
      std::string why;
      packed::ReadCoefficients(test::MakeJpeg(picture), coefficients, why);
      return test::ImageValue(kWidth, kHeight, 3, AsText(packed::Pack(coefficients)),
                              Codec::kPacked);
    }
    case 3: return test::ImageValue(kWidth, kHeight, 3, pixels);
    case 4:
      return test::ImageValue(kWidth / 2, kHeight, 3, pixels, Codec::kRaw, PixelType::kUint16);
    case 5:
      return test::ImageValue(kWidth, kHeight, 3, AsText(ZstdCompress(AsBytes(pixels))),
                              Codec::kZstd);
    default:
      return test::ImageValue(kWidth, kHeight, 3,
                              AsText(test::MakeJpeg(picture, {.restart_rows = 1})), Codec::kJpeg);
  }
}

EncodedSample SampleOf(std::uint8_t form, std::uint32_t i) {
  EncodedSample sample{"some/" + std::to_string(i) + ".jpg", {}};
  sample.fields = {PictureValue(form, i + 1),
                   test::ArrayValue<std::int32_t>({static_cast<std::int32_t>(i % 3)})};
  if (form == 0) return sample;
  const std::uint32_t width = sample.fields[0].width, height = sample.fields[0].height;
  const std::string mask(std::size_t{width} * height, static_cast<char>(i % 4));
  sample.fields.push_back(
      test::ImageValue(width, height, 1, AsText(ZstdCompress(AsBytes(mask))), Codec::kZstd));
  const float corners[] = {1, 2, 10, 12, 0, 0, 5, 6};
  const std::int32_t kinds[] = {1, 0};
  const std::size_t boxes = i % 3;
  sample.fields.push_back(
      test::PayloadValue(AsText(std::as_bytes(std::span(corners).first(boxes * 4)))));
  sample.fields.push_back(Compressed(AsText(std::as_bytes(std::span(kinds).first(boxes)))));
  sample.fields.push_back(test::ArrayValue<float>({1, 2, 3, 4}));
  sample.fields.push_back(i == 4 ? FieldValue{} : Compressed("what is seen in " + sample.key));
  sample.fields.push_back(test::PayloadValue("sound " + std::to_string(i)));
  return sample;
}

// A zstd frame of `bytes` zeros. The frame of each size is made once.
const File& ZerosFrame(std::uint64_t bytes) {
  static std::map<std::uint64_t, File> frames;
  File& frame = frames[bytes];
  if (frame.empty()) frame = ZstdCompress(File(bytes));
  return frame;
}

std::string OddKey(std::uint32_t number) {
  static const std::string kOdd[] = {"",         "../../up.jpg",      "/etc/root.jpg",
                                     "some",     "some/0.jpg/in.jpg", std::string("zero\0.jpg", 9),
                                     "\xFF\xFE", "=1+1,\"\n",         std::string(65535, 'k'),
                                     "a//b/.",   "some/1.png",        std::string(300, 'n') + "/x"};
  return kOdd[number % std::size(kOdd)];
}

void ChangeEntry(FieldValue& value, const Change& change) {
  switch (change.at % 5) {
    case 0: value.codec = static_cast<Codec>(change.number % 7); return;
    case 1: value.width = static_cast<std::uint32_t>(NumberFor(change, value.width)); return;
    case 2: value.height = static_cast<std::uint32_t>(NumberFor(change, value.height)); return;
    case 3: value.channels = static_cast<std::uint8_t>(NumberFor(change, value.channels)); return;
    default: value.pixel_type = static_cast<PixelType>(change.number % 3); return;
  }
}

}  // namespace

Schema SchemaOf(std::uint8_t form) {
  const std::vector<std::string> classes = {"cat", "dog", "owl"};
  Schema schema{{Field::Image(), Field::Label("label", classes)}};
  if (form == 0) return schema;  // as if converted from a folder, so that `append` works
  Field boxes = Field::Variable("boxes", DType::kFloat32, {4});
  boxes.role = Role::kBoxes;
  boxes.follows = "image";
  boxes.coordinates = "xyxy-pixels";
  Field kinds = Field::Variable("kinds", DType::kInt32, {});
  kinds.role = Role::kLabel;
  kinds.follows = "image";
  kinds.classes = {"head", "tail"};
  Field points = Field::Array("points", DType::kFloat32, {2, 2});
  points.role = Role::kKeypoints;
  points.follows = "image";
  for (Field& field :
       std::vector<Field>{Field::Mask("mask", "image"), boxes, kinds, points,
                          Field::Bytes("caption", Role::kText), Field::Bytes("sound")})
    schema.fields.push_back(std::move(field));
  return schema;
}

std::vector<EncodedSample> SamplesOf(std::uint8_t form) {
  std::vector<EncodedSample> samples;
  for (std::uint32_t i = 0; i < 10; ++i)
    samples.push_back(SampleOf(form, i));
  return samples;
}

void ChangeSample(EncodedSample& sample, const EncodedSample& other, const Change& change) {
  if (change.place == kKey) {
    sample.key = change.value % 4 == 0 ? other.key : OddKey(change.number);
    return;
  }
  const std::size_t f = change.field % sample.fields.size();
  FieldValue& value = sample.fields[f];
  if (change.place == kElements) return ChangeWord(value.bytes, change);
  if (value.codec == Codec::kAbsent) return;  // an absent value, or an array
  switch (change.place) {
    case kPayload: {
      RandomStream random(change.number, static_cast<Purpose>(0xF26), 0);
      (value.codec == Codec::kJpeg ? MutateJpeg : Mutate)(value.bytes, other.fields[f].bytes,
                                                          random);
      return;
    }
    case kZeros:
      value.bytes = ZerosFrame((std::uint64_t{1} << change.number % 23) + change.value % 3 - 1);
      value.codec = Codec::kZstd;
      return;
    case kZeroImage:
      value.width = 1U << change.number % 12;
      value.height = 1U << change.number / 16 % 12;
      value.bytes = ZerosFrame(std::uint64_t{value.width} * value.height * value.channels *
                               SizeOf(value.pixel_type));
      value.codec = Codec::kZstd;
      return;
    default: ChangeEntry(value, change); return;
  }
}

namespace {

using nlohmann::json;
using File = std::vector<std::byte>;
constexpr std::size_t kMaxChanges = 8;

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

// Corrects the numbers of samples and blocks that the manifest's reader compares with each other.
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
          manifest.images.back().Add(FiguresOf(value.width, value.height, value.channels,
                                               value.pixel_type, value.bytes.size()));
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
  while (!reader.empty() && changes.size() < kMaxChanges) {
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
    const Change change{.place = place,
                        .which = place,
                        .value = place,
                        .size = 2,
                        .at = static_cast<std::uint16_t>(place * 7),
                        .field = place,
                        .number = 77};
    add({static_cast<std::uint8_t>(place % kForms), 0, place}, &change);
  }
  // Every sample has a value of 2^22 zeros, or an image of 128 x 2048 zeros, which the manifest
  // does not mention.
  for (const std::uint8_t left : {std::uint8_t{kTotals}, std::uint8_t{kTotals | kNoValues}}) {
    for (const auto& [place, number] : {std::pair{kZeros, 22U}, {kZeroImage, 11U + 11U * 16}}) {
      const Change change{.place = place,
                          .which = 255,
                          .value = 1,
                          .size = 0,
                          .at = 0,
                          .field = place == kZeros ? std::uint16_t{6} : std::uint16_t{0},
                          .number = number};
      add({1, left, 0}, &change);
    }
  }
  return seeds;
}

void MutateForgery(Input& input, const Input& other, RandomStream& random) {
  input.resize(std::max(input.size(), sizeof(Head)));
  std::size_t changes = std::min((input.size() - sizeof(Head)) / sizeof(Change), kMaxChanges);
  input.resize(sizeof(Head) + changes * sizeof(Change));
  const auto any_byte = [&random] { return static_cast<std::byte>(random.Below(256)); };
  for (std::uint64_t left = random.Below(3) + 1; left > 0; --left) {
    const std::uint64_t choice = random.Below(8);
    if (choice == 0) {  // the head; most bits of Disagreement are clear
      input[0] = any_byte();
      input[1] = any_byte() & any_byte() & any_byte();
      input[2] = any_byte();
      input[3] = any_byte();
    } else if (choice < 4 && changes < kMaxChanges) {
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
  if (changes < kMaxChanges && other.size() >= sizeof(Head) + sizeof(Change) &&
      random.Below(8) == 0) {
    input.insert(input.end(), other.begin() + sizeof(Head),
                 other.begin() + sizeof(Head) + sizeof(Change));
  }
}

}  // namespace sluice::fuzz
