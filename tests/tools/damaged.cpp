#include "tests/tools/damaged.h"

#include <cstring>
#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "format/disk/checksum.h"
#include "format/disk/file.h"
#include "format/disk/shard.h"
#include "format/disk/zstd.h"
#include "tests/format/built_shard.h"
#include "tests/fuzz/reseal.h"
#include "tests/pictures.h"

namespace sluice::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* kManifest = "manifest.json";
constexpr const char* kShard = "shard-00000.sluice";
constexpr const char* kOtherShard = "shard-00001.sluice";

std::string ReadText(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void WriteText(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

Schema SpecimenSchema() {
  Field boxes = Field::Variable("boxes", DType::kFloat32, {4});
  boxes.role = Role::kBoxes;
  boxes.follows = "image";
  boxes.coordinates = "xyxy-pixels";
  Field things = Field::Variable("things", DType::kInt32, {});
  things.role = Role::kLabel;
  things.follows = "image";
  things.classes = {"cup", "fork", "knife"};
  return Schema{{Field::Image(), Field::Mask("mask", "image"),
                 Field::Label("label", {"cat", "dog"}), things, boxes,
                 Field::Label("colour", {"red", "green", "blue"}),
                 Field::Bytes("caption", Role::kText), Field::Bytes("facts", Role::kJson),
                 Field::Bytes("sound"), Field::Array("score", DType::kFloat32, {2})}};
}

std::string TextOf(const std::vector<std::byte>& bytes) {
  return std::string(AsText(bytes));
}

EncodedSample SpecimenSample(std::uint32_t i) {
  const std::uint32_t width = 20 + i;
  const std::uint32_t height = 14;
  const Picture picture = MakePicture(width, height, 3, i + 1);
  const bool raw = i % 3 == 2;
  const std::string pixels(picture.pixels.begin(), picture.pixels.end());
  const auto zstd = [](const std::string& text) { return TextOf(ZstdCompress(AsBytes(text))); };
  EncodedSample sample;
  sample.key = (i % 2 == 0 ? "cat/" : "dog/") + std::to_string(i) + ".jpg";
  sample.fields = {raw ? ImageValue(width, height, 3, pixels)
                       : ImageValue(width, height, 3, TextOf(MakeJpeg(picture)), Codec::kJpeg),
                   ImageValue(width, height, 1,
                              zstd(std::string(std::size_t{width} * height, '\1')), Codec::kZstd),
                   ArrayValue<std::int32_t>({static_cast<std::int32_t>(i % 2)}),
                   PayloadValue(std::string("\0\0\0\0\2\0\0\0", 8)),
                   PayloadValue(std::string(32, '\0')),
                   ArrayValue<std::int32_t>({static_cast<std::int32_t>(i % 3)}),
                   PayloadValue(zstd("caption " + std::to_string(i)), Codec::kZstd),
                   i % 4 == 3 ? FieldValue{} : PayloadValue("{\"n\":1}"),
                   PayloadValue("\xff\x01 sound"),
                   ArrayValue<float>({0.5F, 1.5F})};
  return sample;
}

// The digits of the manifest's digest begin at this offset. The digested text follows them.
constexpr std::size_t kDigitsAt = 7;
constexpr std::size_t kDigits = 32;

// Writes the manifest with the digest of this text.
void SealManifest(const fs::path& folder, std::string text) {
  const auto rest = std::string_view(text).substr(kDigitsAt + kDigits);
  text.replace(kDigitsAt, kDigits, ToHex(Hash128(AsBytes(rest))));
  WriteText(folder / kManifest, text);
}

// The shard's digest that the manifest states (FORMAT.md, "Tail"); empty if the tail is invalid.
std::string DigestOf(Bytes file) {
  const std::size_t tail_at = file.size() - sizeof(ShardTail);
  const auto tail = LoadAt<ShardTail>(file, tail_at);
  if (!Inside(tail.directory_offset, tail.directory_bytes, tail_at)) return {};
  return ToHex(
      Hash128({file.subspan(tail.directory_offset, tail.directory_bytes), file.subspan(tail_at)}));
}

// Recomputes all checksums of the first shard, and makes the manifest agree with it.
void SealShard(const fs::path& folder, std::string shard) {
  const std::span<std::byte> bytes(reinterpret_cast<std::byte*>(shard.data()), shard.size());
  const std::string before = DigestOf(AsBytes(ReadText(folder / kShard)));
  fuzz::ResealShard(bytes);
  WriteText(folder / kShard, shard);
  const std::string after = DigestOf(bytes);
  std::string manifest = ReadText(folder / kManifest);
  if (const std::size_t at = manifest.find(before); at != std::string::npos && !after.empty()) {
    manifest.replace(at, before.size(), after);
  }
  SealManifest(folder, manifest);
}

// The offsets of words in a shard's structures: its header and schema, the headers and tables of
// its blocks, its directory and its tail. The offsets are four bytes apart, because most numbers
// have four or eight bytes.
std::vector<std::size_t> StructureOffsets(const std::string& shard) {
  const Bytes file = AsBytes(shard);
  std::vector<std::size_t> offsets;
  const auto add = [&](std::uint64_t from, std::uint64_t bytes) {
    for (std::uint64_t at = from; at + 8 <= from + bytes; at += 4)
      offsets.push_back(at);
  };
  add(0, sizeof(ShardHeader) + LoadAt<ShardHeader>(file, 0).schema_bytes);
  const auto tail = LoadAt<ShardTail>(file, file.size() - sizeof(ShardTail));
  const auto directory = LoadAt<DirectoryHeader>(file, tail.directory_offset);
  for (std::uint32_t b = 0; b < directory.blocks; ++b) {
    const auto entry = LoadAt<BlockEntry>(
        file, tail.directory_offset + sizeof(DirectoryHeader) + b * sizeof(BlockEntry));
    const auto block = LoadAt<BlockHeader>(file, entry.offset);
    add(entry.offset, sizeof(BlockHeader) + std::uint64_t{block.count} * block.record_bytes);
  }
  add(tail.directory_offset, tail.directory_bytes);
  add(file.size() - sizeof(ShardTail), sizeof(ShardTail));
  return offsets;
}

// Adds the places of all members and elements of `value`, which is at `at`, to `all`.
void AddMembers(const Json& value, const Json::json_pointer& at,
                std::vector<Json::json_pointer>& all) {
  if (!at.empty()) all.push_back(at);
  if (value.is_object()) {
    for (const auto& [name, member] : value.items())
      AddMembers(member, at / name, all);
  } else if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i)
      AddMembers(value[i], at / i, all);
  }
}

std::vector<Json> ForgedValues() {
  return {nullptr,       true,          -1,           0,
          1'000'000'007, 1e300,         UINT64_MAX,   "",
          "text",        Json::array(), Json{{1, 2}}, Json::object()};
}

// Adds a kind of damage: `file` is removed, and `make` may create something else in its place.
void Replace(std::vector<Damage>& all, const char* file, const char* name,
             const std::function<void(const fs::path&)>& make) {
  all.push_back({std::string(file) + " is " + name, [=](const fs::path& folder) {
                   fs::remove(folder / file);
                   make(folder / file);
                 }});
}

}  // namespace

void WriteSpecimen(const fs::path& folder) {
  const Schema schema = SpecimenSchema();
  std::vector<EncodedSample> samples;
  for (std::uint32_t i = 0; i < 8; ++i)
    samples.push_back(SpecimenSample(i));
  const std::span<const EncodedSample> all(samples);
  const std::vector<BuiltShard> shards = {BuildShard(schema, IdOf(1), 2, all.first(4)),
                                          BuildShard(schema, IdOf(2), 2, all.subspan(4))};
  fs::create_directories(folder);
  WriteDataset(folder, ManifestOf("specimen", schema, shards, samples), shards);
}

std::vector<Damage> Accidents(const fs::path& specimen) {
  std::vector<Damage> all;
  for (const char* file : {kManifest, kShard}) {
    const std::size_t size = ReadText(specimen / file).size();
    for (const std::size_t left : {std::size_t{0}, std::size_t{1}, std::size_t{64}, size / 3,
                                   size / 2, size - 64, size - 1}) {
      all.push_back({std::string(file) + " cut to " + std::to_string(left) + " bytes",
                     [=](const fs::path& folder) { fs::resize_file(folder / file, left); }});
    }
    for (std::size_t i = 0; i < 12; ++i) {
      const std::size_t at = size * i / 12 + i;
      all.push_back({std::string(file) + " with byte " + std::to_string(at) + " changed",
                     [=](const fs::path& folder) {
                       std::string text = ReadText(folder / file);
                       text[at] = static_cast<char>(text[at] ^ 0x21);
                       WriteText(folder / file, text);
                     }});
    }
    Replace(all, file, "gone", [](const fs::path&) {});
    Replace(all, file, "a folder", [](const fs::path& path) { fs::create_directory(path); });
    Replace(all, file, "a pipe", [](const fs::path& path) { mkfifo(path.c_str(), 0600); });
    Replace(all, file, "a link to itself",
            [](const fs::path& path) { fs::create_symlink(path.filename(), path); });
    Replace(all, file, "a link to nothing",
            [](const fs::path& path) { fs::create_symlink("nothing", path); });
    Replace(all, file, "a device",
            [](const fs::path& path) { fs::create_symlink("/dev/full", path); });
    all.push_back(
        {std::string(file) + " without permission to read it", [=](const fs::path& folder) {
           fs::permissions(folder / file, fs::perms::none);  // root can still read it
         }});
  }
  all.push_back({"two shards swapped", [](const fs::path& folder) {
                   fs::rename(folder / kShard, folder / "kept");
                   fs::rename(folder / kOtherShard, folder / kShard);
                   fs::rename(folder / "kept", folder / kOtherShard);
                 }});
  all.push_back({"an empty folder", [](const fs::path& folder) {
                   for (const char* file : {kManifest, kShard, kOtherShard})
                     fs::remove(folder / file);
                 }});
  return all;
}

std::vector<Damage> Forgeries(const fs::path& specimen, std::size_t stride) {
  std::vector<Damage> all;
  const std::string shard = ReadText(specimen / kShard);
  constexpr std::uint64_t kValues[] = {0,         1, 0x7FFFFFFF, 0xFFFFFFFF, std::uint64_t{1} << 48,
                                       UINT64_MAX};
  std::size_t number = 0;
  for (const std::size_t at : StructureOffsets(shard)) {
    for (const std::uint64_t value : kValues) {
      if (number++ % stride != 0) continue;
      all.push_back({"the shard's word at " + std::to_string(at) + " is " + std::to_string(value),
                     [=](const fs::path& folder) {
                       std::string forged = shard;
                       std::memcpy(&forged[at], &value, value > 0xFFFFFFFF ? 8 : 4);
                       SealShard(folder, forged);
                     }});
    }
  }
  const std::string text = ReadText(specimen / kManifest);
  const Json manifest = Json::parse(text);
  std::vector<Json::json_pointer> members;
  AddMembers(manifest, Json::json_pointer(), members);
  for (const Json::json_pointer& member : members) {
    for (const Json& value : ForgedValues()) {
      if (number++ % stride != 0) continue;
      all.push_back({"the manifest's " + member.to_string() + " is " + value.dump(),
                     [=](const fs::path& folder) {
                       Json forged = manifest;
                       forged[member] = value;
                       SealManifest(folder, forged.dump());
                     }});
    }
  }
  return all;
}

}  // namespace sluice::test
