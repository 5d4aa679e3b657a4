// Datasets from a faulty writer: all checksums are right, but FORMAT.md is violated. verify names
// what is wrong, with file and sample.
#include <functional>

#include <sluice/error.h>
#include <sluice/verify.h>

#include "format/disk/checksum.h"
#include "format/disk/file.h"
#include "format/disk/json.h"
#include "format/disk/limits.h"
#include "format/disk/shard.h"
#include "format/disk/zstd.h"
#include "tests/catch.h"
#include "tests/format/built_shard.h"
#include "tests/fuzz/reseal.h"
#include "tests/pictures.h"
#include "tests/temporary_folder.h"

using namespace sluice;
using namespace sluice::test;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr std::size_t kPictureField = 0, kClassField = 1, kCaptionField = 2, kFactsField = 3,
                      kPointsField = 4;

std::string_view TextIn(const std::vector<std::byte>& bytes) {
  return AsText(bytes);
}

FieldValue ZstdValue(std::string_view content) {
  return PayloadValue(TextIn(ZstdCompress(AsBytes(content))), Codec::kZstd);
}

// A dataset of one shard with five samples, in blocks of four. Functions change it; afterwards all
// checksums are made right again.
struct Forged {
  Schema schema{{Field::Image(), Field::Label("label", {"a", "b"}),
                 Field::Bytes("caption", Role::kText), Field::Bytes("facts", Role::kJson),
                 Field::Variable("points", DType::kFloat32, {2})}};
  std::vector<EncodedSample> samples;
  ExtraSections sections;
  std::uint32_t section_flags = 0;
  std::function<void(std::vector<BuiltShard>&)> change_shards;
  std::function<void(Manifest&)> change_manifest;
  std::function<void(std::string&)> change_text;  // of the manifest

  Forged() {
    for (int i = 0; i < 5; ++i) {
      samples.push_back({"key-" + std::to_string(i),
                         {ImageValue(2, 1, 3, "pixels"), ArrayValue<std::int32_t>({i % 2}),
                          PayloadValue("caf\xC3\xA9"), ZstdValue(R"({"n": 1.0, "of": [{}, null]})"),
                          PayloadValue(std::string(16, 'x'))}});
    }
  }

  FieldValue& Value(std::size_t sample, std::size_t field) { return samples[sample].fields[field]; }

  void Write(const std::filesystem::path& folder) {
    std::vector<BuiltShard> shards = {
        BuildShard(schema, IdOf(1), 4, samples, sections, section_flags)};
    if (change_shards) change_shards(shards);
    Manifest manifest = ManifestOf("forged", schema, shards, samples);
    manifest.values = NoValues(schema);
    for (const EncodedSample& sample : samples) {
      std::size_t value = 0;
      for (std::size_t f = 0; f < schema.fields.size(); ++f) {
        if (HasValues(schema.fields[f]))
          AddValue(sample.fields[f].codec, sample.fields[f].bytes, manifest.values[value++]);
      }
    }
    if (change_manifest) change_manifest(manifest);
    WriteDataset(folder, manifest, shards);
    if (!change_text) return;
    Id128 id;
    std::string text = ManifestToJson(manifest, id);
    change_text(text);
    // The text begins with {"id":" and 32 digits; the id is the hash of all that follows them.
    constexpr std::size_t kIdAt = 7, kIdDigits = 32;
    text.replace(kIdAt, kIdDigits, ToHex(Hash128(AsBytes(text.substr(kIdAt + kIdDigits)))));
    WriteFile(folder / kManifestName, AsBytes(text));
  }
};

ShardTail TailOf(Bytes file) {
  return LoadAt<ShardTail>(file, file.size() - sizeof(ShardTail));
}

// Makes checksums and digest right.
void SealForged(BuiltShard& shard) {
  fuzz::ResealShard(shard.bytes);
  const Bytes file = shard.bytes;
  const ShardTail tail = TailOf(file);
  shard.entry.digest = Hash128(
      {file.subspan(tail.directory_offset, tail.directory_bytes), file.last(sizeof(ShardTail))});
}

// Changes the directory's entry of section number `place` (counted from 0).
template <class Change>
auto WithSection(std::size_t place, Change change) {
  return [=](std::vector<BuiltShard>& shards) {
    const std::span<std::byte> file(shards[0].bytes);
    // Section `place` lies where the columns of a directory with `place` sections would begin.
    constexpr std::uint64_t kBlocks = 2;
    const std::uint64_t at = TailOf(file).directory_offset + ColumnsOffset(kBlocks, place);
    auto entry = LoadAt<SectionEntry>(file, at);
    change(entry);
    StoreAt(file, at, entry);
    SealForged(shards[0]);
  };
}

// Changes the schema's text in the shard's header. The new text must fit the header.
template <class Change>
auto WithSchemaText(Change change) {
  return [=](std::vector<BuiltShard>& shards) {
    const std::span<std::byte> file(shards[0].bytes);
    auto header = LoadAt<ShardHeader>(file, 0);
    std::string text(AsText(Bytes(file).subspan(sizeof(header), header.schema_bytes)));
    change(text);
    header.schema_bytes = static_cast<std::uint32_t>(text.size());
    StoreAt(file, 0, header);
    text.resize(header.header_bytes - sizeof(header));
    std::memcpy(file.data() + sizeof(header), text.data(), text.size());
    SealForged(shards[0]);
  };
}

// Changes the entry of sample 1 for that field.
template <class Change>
auto WithEntry(std::size_t field, Change change) {
  return [=](std::vector<BuiltShard>& shards) {
    const std::span<std::byte> file(shards[0].bytes);
    const RecordLayout layout(Forged().schema);
    const std::uint64_t at = LoadAt<ShardHeader>(file, 0).header_bytes + sizeof(BlockHeader) +
                             layout.record_bytes() + layout.offset(field);
    auto entry = LoadAt<PayloadEntry>(file, at);
    change(entry);
    StoreAt(file, at, entry);
    SealForged(shards[0]);
  };
}

void ReplaceText(std::string& text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  text.replace(at, from.size(), to);
}

// A change to a forged dataset, and the one fault that verify must find in it.
struct ForgedCase {
  const char* name;
  std::function<void(Forged&)> forge;
  const char* reason;        // a part of the fault's
  std::int64_t sample = -1;  // -1: the fault belongs to no sample
  bool content = false;      // found only with VerifyOptions::decode
  const char* file = "shard-00000.sluice";
};

// A JPEG whose entry may claim another number of channels than it has.
FieldValue JpegValue(std::uint32_t channels, std::uint8_t claimed_channels) {
  return ImageValue(20, 12, claimed_channels, TextIn(MakeJpeg(MakePicture(20, 12, channels))),
                    Codec::kJpeg);
}

// A zstd frame of one empty raw block, which does not declare the size of its content.
FieldValue UnsizedZstd() {
  return PayloadValue(std::string("\x28\xB5\x2F\xFD\x00\x00\x01\x00\x00", 9), Codec::kZstd);
}

// A case whose only change is the value of sample 3.
ForgedCase CaseOfValue(const char* name, std::size_t field, FieldValue value, const char* reason,
                       bool content = false) {
  return {name, [=](Forged& forged) { forged.Value(3, field) = value; }, reason, 3, content};
}

// A case in which a number in the manifest is wrong.
template <class Change>
ForgedCase CaseOfManifest(const char* name, Change change, const char* reason) {
  return {name,   [=](Forged& forged) { forged.change_manifest = change; },
          reason, -1,
          false,  "manifest.json"};
}

std::vector<ForgedCase> ForgedCases() {
  std::vector<ForgedCase> cases = {
      // Sections.
      {"no section 1",
       [](Forged& f) {
         f.change_shards = WithSection(0, [](SectionEntry& entry) { entry.number = 9; });
       },
       "no section 1"},
      {"section 1 twice",
       [](Forged& f) {
         f.sections = {{9, "more"}};
         f.change_shards = WithSection(1, [](SectionEntry& entry) { entry.number = 1; });
       },
       "section's number occurs twice"},
      {"a reserved flag of a section",
       [](Forged& f) {
         f.change_shards = WithSection(0, [](SectionEntry& entry) { entry.flags = 2; });
       },
       "reserved flag of a section"},
      {"an origin that is not JSON",
       [](Forged& f) {
         f.sections = {{kSectionOrigin, "{"}};
       },
       "section 2 is not JSON"},
      {"a key over the limit",
       [](Forged& f) { f.samples[3].key.assign(kMaxKeyBytes + 1, 'k'); },
       "the key of sample 3 has more than 65535 bytes"},
      // Schemas.
      {"text after a zero byte in a schema",
       [](Forged& f) {
         f.change_shards = WithSchemaText([](std::string& text) { text += '\0'; });
       },
       "has a zero byte"},
      {"a member twice in a schema",
       [](Forged& f) {
         f.change_shards = WithSchemaText(
             [](std::string& text) { ReplaceText(text, "{\"fields", "{\"x\":1,\"x\":1,\"fields"); });
       },
       "has the member \"x\" twice"},
      // The header is made for a long schema, which then gets shorter by more than a page.
      {"a header with an empty page",
       [](Forged& f) {
         for (int i = 0; i < 100; ++i)
           f.schema.fields.push_back(Field::Bytes("field-" + std::to_string(i)));
         for (EncodedSample& sample : f.samples)
           sample.fields.resize(f.schema.fields.size());
         f.change_shards = WithSchemaText([](std::string& text) {
           for (int i = 0; i < 100; ++i)
             ReplaceText(text, ",\"role\":\"none\"", "");
         });
       },
       "the header is longer than its schema"},
      // Entries.
      {"a payload over the limit",
       [](Forged& f) {
         f.change_shards = WithEntry(kCaptionField, [](PayloadEntry& entry) {
           entry.size = static_cast<std::uint32_t>(kMaxPayloadBytes) + 1;
         });
       },
       "more than 120000000 bytes", 1},
      {"a flag that is not known",
       [](Forged& f) {
         f.change_shards = WithEntry(kCaptionField, [](PayloadEntry& entry) { entry.flags = 4; });
       },
       "flags are not known", 1},
      CaseOfValue("a JPEG in a bytes field", kCaptionField, PayloadValue("x", Codec::kJpeg),
              "field \"caption\": its codec is for images"),
      CaseOfValue("a packed picture in a variable field", kPointsField, PayloadValue("x", Codec::kPacked),
              "its codec is for images"),
      CaseOfValue("a codec that is not assigned", kCaptionField, PayloadValue("x", static_cast<Codec>(6)),
              "its codec is not known"),
      CaseOfValue("an image with a codec that is not assigned", kPictureField,
              ImageValue(2, 1, 3, "pixels", static_cast<Codec>(6)), "codec is not known"),
      CaseOfValue("entries of a variable field cut short", kPointsField, PayloadValue("12345"),
              "not hold a whole number of entries"),
      CaseOfValue("entries of a compressed variable field cut short", kPointsField, ZstdValue("12345"),
              "not hold a whole number of entries"),
      CaseOfValue("bytes that are not a zstd frame", kCaptionField, PayloadValue("x", Codec::kZstd),
              "not a zstd frame"),
      CaseOfValue("a zstd frame without its content's size", kCaptionField, UnsizedZstd(), "not a zstd frame"),
      CaseOfValue("raw pixels cut short", kPictureField, ImageValue(2, 1, 3, "pixel"),
              "the pixels are of another size"),
      CaseOfValue("a JPEG of two channels", kPictureField, JpegValue(3, 2), "one or three channels"),
      {"a JPEG of 16 bits",
       [](Forged& f) {
         f.Value(3, kPictureField) = JpegValue(3, 3);
         f.Value(3, kPictureField).pixel_type = PixelType::kUint16;
       },
       "8-bit pixels only", 3},
      // Contents.
      {"bytes after a zstd frame",
       [](Forged& f) { f.Value(3, kFactsField).bytes.push_back(std::byte{0}); },
       "the zstd frame cannot be decompressed", 3, true},
      {"a zstd frame cut short",
       [](Forged& f) { f.Value(3, kFactsField).bytes.pop_back(); },
       "the zstd frame cannot be decompressed", 3, true},
      CaseOfValue("a grey JPEG with three channels in its entry", kPictureField, JpegValue(1, 3),
              "another number of channels", true),
      {"a JPEG of another width",
       [](Forged& f) {
         f.Value(3, kPictureField) = JpegValue(3, 3);
         f.Value(3, kPictureField).width = 21;
       },
       "another size", 3, true},
      CaseOfValue("a text that is not UTF-8", kCaptionField, PayloadValue("caf\xE9"),
              "is not UTF-8 from byte 4 on", true),
      CaseOfValue("a compressed text that is not UTF-8", kCaptionField, ZstdValue("\xFF"),
              "is not UTF-8 from byte 1 on", true),
      CaseOfValue("JSON that does not parse", kFactsField, PayloadValue("{"), "is not JSON", true),
      CaseOfValue("JSON that is empty", kFactsField, PayloadValue(""), "is not JSON", true),
      CaseOfValue("JSON with a member twice", kFactsField, ZstdValue(R"([{"a":{"b":1},"b":2,"a":3}])"),
              "has the member \"a\" twice", true),
      CaseOfValue("JSON with a zero byte", kFactsField, PayloadValue(std::string("{}\0", 3)),
              "zero byte, byte 3", true),
      CaseOfValue("JSON with a byte order mark", kFactsField, PayloadValue("\xEF\xBB\xBF{}"),
              "byte order mark", true),
      CaseOfValue("JSON that nests too deeply", kFactsField,
              PayloadValue(std::string(33, '[') + std::string(33, ']')), "nests too deeply", true),
      // The manifest's sums.
      CaseOfManifest("a false class count",
                 [](Manifest& m) { m.class_counts = {2, 2}; },
                 "class_counts of class 0 is 2, but the samples give 3"),
      {"a false number of images",
       [](Forged& f) {
         f.Value(4, kPictureField) = FieldValue{};
         f.change_manifest = [](Manifest& m) { m.images[0].present = 5; };
       },
       "images of field \"image\": present is 5, but the samples give 4", -1, false, "manifest.json"},
      CaseOfManifest("a false sum of images", [](Manifest& m) { m.images[0].payload_bytes = 29; },
                 "payload_bytes is 29, but the samples give 30"),
      CaseOfManifest("a false size of an image", [](Manifest& m) { m.images[0].max_payload_bytes = 7; },
                 "max_payload_bytes is 7, but the samples give 6"),
      CaseOfManifest("a false least width", [](Manifest& m) { m.images[0].min_width = 1; },
                 "the least width is 1, but the samples give 2"),
      CaseOfManifest("a false greatest width", [](Manifest& m) { m.images[0].max_width = 3; },
                 "the greatest width is 3, but the samples give 2"),
      CaseOfManifest("a false height", [](Manifest& m) { m.images[0].max_height = 9; },
                 "the greatest height is 9, but the samples give 1"),
      CaseOfManifest("a false number of channels", [](Manifest& m) { m.images[0].min_channels = 1; },
                 "the least number of channels is 1, but the samples give 3"),
      CaseOfManifest("a false pixel type", [](Manifest& m) { m.images[0].pixel_type = PixelType::kUint16; },
                 "pixel_type is uint16, but the samples give uint8"),
      {"a false number of values",
       [](Forged& f) {
         f.Value(4, kCaptionField) = FieldValue{};
         f.change_manifest = [](Manifest& m) { m.values[0].present = 5; };
       },
       "values of field \"caption\": present is 5, but the samples give 4", -1, false, "manifest.json"},
      CaseOfManifest("a false sum of values", [](Manifest& m) { m.values[1].bytes -= 1; },
                 "values of field \"facts\": bytes is"),
      CaseOfManifest("a false size of a value", [](Manifest& m) { m.values[2].max_bytes = 17; },
                 "values of field \"points\": max_bytes is 17, but the samples give 16"),
      {"two shards with one id",
       [](Forged& f) {
         f.change_shards = [](std::vector<BuiltShard>& shards) { shards.push_back(shards[0]); };
         f.change_manifest = [](Manifest& manifest) {
           manifest.samples = 10;
           manifest.class_counts = {6, 4};
           manifest.images[0].present = 10;
           manifest.images[0].payload_bytes *= 2;
         };
       },
       "has the id of shard-00000.sluice", -1, false, "shard-00001.sluice"}};
  return cases;
}

std::vector<Fault> FaultsIn(const std::filesystem::path& folder, bool decode) {
  VerifyOptions options;
  options.decode = decode;
  options.threads = 2;
  return VerifyDataset(folder, options).faults;
}

std::string FaultList(const std::vector<Fault>& faults) {
  std::string list;
  for (const Fault& fault : faults)
    list += fault.shard + " " + std::to_string(fault.sample) + ": " + fault.reason + "\n";
  return list;
}

}  // namespace

TEST_CASE("verify names each fault that a faulty writer made, with file and sample") {
  for (const ForgedCase& made : ForgedCases()) {
    INFO(made.name);
    const TemporaryFolder folder;
    Forged forged;
    made.forge(forged);
    forged.Write(folder.path());
    const std::vector<Fault> plain = FaultsIn(folder.path(), false);
    INFO(FaultList(plain));
    CHECK(plain.size() == (made.content ? 0 : 1));
    const std::vector<Fault> faults = FaultsIn(folder.path(), true);
    INFO(FaultList(faults));
    REQUIRE(faults.size() == 1);
    CHECK(faults[0].shard == made.file);
    CHECK(faults[0].sample == made.sample);
    if (made.sample >= 0) CHECK(faults[0].key == "key-" + std::to_string(made.sample));
    CHECK_THAT(faults[0].reason, ContainsSubstring(made.reason));
  }
}

TEST_CASE("verify finds nothing in what the format allows but our writers do not make") {
  const TemporaryFolder folder;
  Forged forged;
  SECTION("nothing unusual") {}
  SECTION("labels of any number with an empty list of classes") {
    forged.schema.fields[kClassField].classes.clear();
    forged.Value(1, kClassField) = ArrayValue<std::int32_t>({-7});
  }
  SECTION("an unknown section, an unknown role, and unknown members") {
    forged.sections = {{0x80000001, "private"}};
    forged.change_shards = WithSchemaText(
        [](std::string& text) { ReplaceText(text, "{\"fields", "{\"later\":1.5,\"fields"); });
    forged.change_text = [](std::string& text) {
      ReplaceText(text, "\"made\":{}", "\"made\":{\"x\":1e3}");
    };
  }
  SECTION("a manifest without values") {
    forged.change_manifest = [](Manifest& manifest) { manifest.values.clear(); };
  }
  SECTION("an empty text, and values that are absent") {
    forged.Value(4, kCaptionField) = PayloadValue("");
    for (const std::size_t field : {kPictureField, kFactsField, kPointsField})
      forged.Value(4, field) = FieldValue{};
  }
  forged.Write(folder.path());
  const std::vector<Fault> faults = FaultsIn(folder.path(), true);
  INFO(FaultList(faults));
  CHECK(faults.empty());
}

TEST_CASE("A manifest whose JSON two readers could read differently is refused") {
  const auto refusal = [](const std::function<void(std::string&)>& change) -> std::string {
    const TemporaryFolder folder;
    Forged forged;
    forged.change_text = change;
    forged.Write(folder.path());
    try {
      VerifyDataset(folder.path());
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::kCorrupt);
      CHECK(error.file() == (folder / kManifestName).string());
      return error.sentence();
    }
    return {};
  };
  CHECK_THAT(refusal([](std::string& text) {
               ReplaceText(text, "\"samples\":5", "\"samples\":7,\"samples\":5");
             }),
             ContainsSubstring("has the member \"samples\" twice in one object"));
  CHECK_THAT(refusal([](std::string& text) {
               ReplaceText(text, "\"made\":{}", "\"made\":{\"a\":1,\"a\":1}");
             }),
             ContainsSubstring("has the member \"a\" twice in one object"));
  CHECK_THAT(refusal([](std::string& text) {
               ReplaceText(text, "\"format\"", "\"requires\":[\"x\"],\"requires\":[],\"format\"");
             }),
             ContainsSubstring("\"requires\" twice"));
  CHECK_THAT(refusal([](std::string& text) { text += std::string("\0{\"x\":", 6); }),
             ContainsSubstring("has a zero byte"));
  CHECK_THAT(refusal([](std::string& text) {
               ReplaceText(text, "\"format\"", "\"requires\":{},\"format\"");
             }),
             ContainsSubstring("requires is not a list"));
}
