// Tar archives: some are written here, header by header, and some by the system's tar.
#include <cstdlib>

#include <sluice/convert.h>
#include <sluice/error.h>

#include "tests/catch.h"
#include "tests/format/error_of.h"
#include "tests/temporary_folder.h"
#include "tests/writer/converted.h"
#include "tests/writer/source_files.h"
#include "tests/writer/stored.h"
#include "writer/source/open_source.h"
#include "writer/source/read_source.h"

namespace sluice::test {

using Catch::Matchers::ContainsSubstring;

namespace {

// A ustar header, followed by the content.
std::string Member(const std::string& name, const std::string& content, char type = '0',
                   const std::string& linked = {}) {
  std::string header(512, '\0');
  header.replace(0, name.size(), name);
  header.replace(100, 7, "0000644");
  char size[13];
  std::snprintf(size, sizeof size, "%011zo", content.size());
  header.replace(124, 11, size);
  header[156] = type;
  header.replace(157, linked.size(), linked);
  header.replace(257, 6, std::string("ustar\0", 6));
  header.replace(148, 8, "        ");
  unsigned sum = 0;
  for (const char c : header)
    sum += static_cast<unsigned char>(c);
  char checksum[8];
  std::snprintf(checksum, sizeof checksum, "%06o", sum);
  header.replace(148, 7, std::string(checksum, 7));
  std::string padding((512 - content.size() % 512) % 512, '\0');
  return header + content + padding;
}

// The end-of-archive mark: two blocks of zeros.
const std::string kEnd(1024, '\0');

std::string Jpeg(std::uint64_t seed = 1) {
  const FileBytes file = MakeJpeg(MakePicture(40, 20, 3, seed));
  return {reinterpret_cast<const char*>(file.data()), file.size()};
}

struct Folders {
  TemporaryFolder folder;
  ConvertSummary Convert(const std::vector<std::string>& archives, bool labels = true) const {
    std::vector<std::filesystem::path> paths;
    for (std::size_t i = 0; i < archives.size(); ++i) {
      paths.push_back(folder / (std::string("part").append(std::to_string(i)) + ".tar"));
      WriteSource(paths.back(), archives[i]);
    }
    ConvertOptions options;
    options.shards.keep_order = true;
    ConvertSource source = ConvertSource::Archives(paths);
    source.label.store = labels;
    return ConvertBothWays(source, folder / "data", options);
  }
  StoredDataset Data() const { return ReadDataset(folder / "data"); }
};

}  // namespace

TEST_CASE("an archive that was replaced after it was listed is not read, and ends a conversion") {
  const TemporaryFolder folder;
  const std::filesystem::path archive = folder / "a.tar";
  WriteSource(archive, Member("x.jpg", Jpeg(1)) + kEnd);
  const SourceList list = OpenSource(ConvertSource::Archives({archive}), 1, {});
  std::vector<std::byte> content;
  ReadImageFile(list, 0, content);
  RequirePlaces(list);
  std::filesystem::copy_file(archive, folder / "b.tar");
  std::filesystem::last_write_time(folder / "b.tar", std::filesystem::last_write_time(archive));
  std::filesystem::rename(folder / "b.tar", archive);
  CHECK_THROWS_WITH(ReadImageFile(list, 0, content), ContainsSubstring("changed or replaced"));
  CHECK_THROWS_WITH(RequirePlaces(list), ContainsSubstring("a.tar: the archive was changed"));
}

TEST_CASE("members that share a key form a sample, and their endings name its fields") {
  const Folders folders;
  const std::string mask(
      reinterpret_cast<const char*>(
          MakePng(40, 20, std::vector<std::uint8_t>(800, 3), {.color_type = 0}).data()),
      MakePng(40, 20, std::vector<std::uint8_t>(800, 3), {.color_type = 0}).size());
  const ConvertSummary summary = folders.Convert(
      {Member("./d/", "", '5') + Member("./d/x.1.npy", "?") + Member("d/a.jpg", Jpeg(1)) +
           Member("d/a.cls", "owl\n") + Member("d/a.txt", "an owl") + Member("d/b.JPG", Jpeg(2)) +
           Member("d/b.cls", "cat") + Member("d/b.json", "{\"x\": 1}") +
           Member("d/b.mask.png", mask) + kEnd,
       Member("c.jpeg", Jpeg(3)) + Member("c.cls", "cat") + kEnd});
  CHECK(summary.samples == 3);
  CHECK(summary.classes == std::vector<std::string>{"cat", "owl"});
  REQUIRE(summary.passed_over.size() == 1);
  CHECK(summary.passed_over[0].path == "part0.tar: ./d/x.1.npy");
  const StoredDataset data = folders.Data();
  CHECK(data.Keys() == std::vector<std::string>{"d/a", "d/b", "c"});
  std::vector<std::string> names;
  for (const Field& field : data.manifest.schema.fields)
    names.push_back(field.name);
  CHECK(names == std::vector<std::string>{"image", "label", "text", "json", "mask"});
  CHECK(data.samples[0].Label() == 1);
  CHECK(AsText(data.samples[0].fields[2].bytes) == "an owl");
  CHECK(data.samples[0].fields[3].codec == Codec::kAbsent);
  CHECK(AsText(data.samples[1].fields[3].bytes) == "{\"x\": 1}");
  CHECK(data.samples[1].fields[4].width == 40);
}

TEST_CASE(
    "hidden folders and system folders in an archive are skipped, and each is reported once") {
  const Folders folders;
  std::string archive = Member("cat/a.jpg", Jpeg(1));
  for (const char* name :
       {"cat/.ipynb_checkpoints/a-checkpoint", "./.Trash-1000/files/b", ".Trash-1000/files/c",
        "@eaDir/b", "lost+found/b", "__MACOSX/x/b", "cat/__pycache__/b", "._d"})
    archive += Member(std::string(name) + ".jpg", Jpeg(2));
  const ConvertSummary summary = folders.Convert({archive + kEnd});
  CHECK(folders.Data().Keys() == std::vector<std::string>{"cat/a"});
  std::vector<std::string> passed_over;
  for (const LeftOut& one : summary.passed_over)
    passed_over.push_back(one.path + ": " + one.reason);
  CHECK(passed_over ==
        std::vector<std::string>{"part0.tar: cat/.ipynb_checkpoints: hidden",
                                 "part0.tar: .Trash-1000: hidden",
                                 "part0.tar: @eaDir: a folder of the system's own",
                                 "part0.tar: lost+found: a folder of the system's own",
                                 "part0.tar: __MACOSX: a folder of the system's own",
                                 "part0.tar: cat/__pycache__: a folder of the system's own",
                                 "part0.tar: ._d.jpg: hidden"});
}

TEST_CASE("an image with a dot in its name is left out, or passed over beside its sample's image") {
  const Folders folders;
  const ConvertSummary summary =
      folders.Convert({Member("d/im.1.jpg", Jpeg(1)) + Member("d/im.2.jpg", Jpeg(2)) +
                       Member("a.left.png", "?") + Member("a.jpg", Jpeg(3)) + kEnd});
  CHECK(summary.samples == 1);
  REQUIRE(summary.passed_over.size() == 1);
  CHECK(summary.passed_over[0].path == "part0.tar: a.left.png");
  REQUIRE(summary.skipped.size() == 2);
  CHECK(summary.skipped[0].path == "part0.tar: d/im.1.jpg");
  CHECK_THAT(summary.skipped[0].reason, ContainsSubstring("name it without that dot (d/im_1.jpg)"));
}

TEST_CASE("a sample without an image does not decide which fields the other samples have") {
  const Folders folders;
  const ConvertSummary summary =
      folders.Convert({Member("a.cls", "owl") + Member("a.json", "{}") + Member("b.jpg", Jpeg(1)) +
                       Member("c.jpg", Jpeg(2)) + kEnd});
  CHECK(summary.samples == 2);
  CHECK(summary.fields == std::vector<std::string>{"image"});
  REQUIRE(summary.skipped.size() == 1);
  CHECK(summary.skipped[0].path == "part0.tar: a");
}

TEST_CASE("without labels, a .cls is neither needed nor used") {
  const Folders folders;
  const ConvertSummary summary =
      folders.Convert({Member("a.jpg", Jpeg(1)) + Member("a.cls", "owl") +
                       Member("b.jpg", Jpeg(2)) + Member("b.txt", "b") + kEnd},
                      false);
  CHECK(summary.samples == 2);
  CHECK(summary.classes.empty());
  const StoredDataset data = folders.Data();
  REQUIRE(data.manifest.schema.fields.size() == 2);
  CHECK(AsText(data.Find("b").fields[1].bytes) == "b");
}

TEST_CASE(
    "a .cls without a class, where all others are whole numbers, is refused and its sample is "
    "named") {
  const Folders folders;
  for (const std::string gap : {"-1", "nan", "?", "unknown"}) {
    CAPTURE(gap);
    const auto error = ErrorOf([&] {
      folders.Convert({Member("a.jpg", Jpeg(1)) + Member("a.cls", "2") + Member("b.jpg", Jpeg(2)) +
                       Member("b.cls", gap) + Member("c.jpg", Jpeg(3)) + Member("c.cls", "10") +
                       kEnd});
    });
    REQUIRE(error);
    CHECK(error->code() == ErrorCode::kInvalidArgument);
    CHECK_THAT(error->sentence(),
               ContainsSubstring("the class \"" + gap + "\" among whole numbers (part0.tar: b)"));
    CHECK_THAT(error->sentence(), ContainsSubstring("--classes"));
  }
}

TEST_CASE("a number above 65535 in a .cls gives a warning that classes are in order of names") {
  const Folders folders;
  const ConvertSummary summary =
      folders.Convert({Member("a.jpg", Jpeg(1)) + Member("a.cls", "2") + Member("b.jpg", Jpeg(2)) +
                       Member("b.cls", "65536") + kEnd});
  CHECK(summary.classes == std::vector<std::string>{"2", "65536"});
  REQUIRE(summary.warnings.size() == 1);
  CHECK_THAT(summary.warnings[0], ContainsSubstring("though some are numbers: \"65536\""));
}

TEST_CASE(
    "an image of an unsupported kind in an archive is left out, and the reason names the kind") {
  const Folders folders;
  const ConvertSummary summary = folders.Convert(
      {Member("a.jpg", Jpeg(1)) +
       Member("b.pcx", std::string("\x0a\5\1\x08\0\0\0\0\x1f\0\x1f\0\x2c\1\x2c\1", 16)) + kEnd});
  CHECK(summary.passed_over.empty());
  REQUIRE(summary.skipped.size() == 1);
  CHECK_THAT(summary.skipped[0].reason, ContainsSubstring("a PCX image"));
}

TEST_CASE("samples without an image or a class are left out and named") {
  const Folders folders;
  const ConvertSummary summary = folders.Convert(
      {Member("a.jpg", Jpeg()) + Member("a.cls", "1") + Member("b.cls", "1") +
       Member("c.jpg", Jpeg()) + Member("d.jpg", "no image") + Member("d.cls", "1") +
       Member("e.jpg", Jpeg()) + Member("e.cls", " ") + Member("f.jpg", Jpeg().substr(0, 700)) +
       Member("f.cls", "1") + Member("g.jpg", Jpeg()) + Member("g.cls", "1") +
       Member("g.json", "{") + kEnd});
  CHECK(summary.samples == 1);
  std::string reasons;
  for (const LeftOut& sample : summary.skipped)
    reasons += sample.path + ": " + sample.reason + "\n";
  CHECK_THAT(reasons, ContainsSubstring("part0.tar: b: has no image"));
  CHECK_THAT(reasons, ContainsSubstring("part0.tar: c: has no .cls, but others have one"));
  CHECK_THAT(reasons, ContainsSubstring("part0.tar: d: its image file is not an image"));
  CHECK_THAT(reasons, ContainsSubstring("part0.tar: e: its .cls is empty"));
  CHECK_THAT(reasons, ContainsSubstring("part0.tar: f: "));
  CHECK_THAT(reasons, ContainsSubstring("part0.tar: g: its .json is not JSON"));
}

TEST_CASE("NaN in a .json is stored as null, and its picture is not lost") {
  const Folders folders;
  const ConvertSummary summary =
      folders.Convert({Member("a.jpg", Jpeg(1)) +
                       Member("a.json", R"({"s": NaN, "t": "NaN", "n": -Infinity})") + kEnd});
  CHECK(summary.skipped.empty());
  CHECK(AsText(folders.Data().samples.at(0).fields[1].bytes) ==
        R"({"s": null, "t": "NaN", "n": null})");
}

TEST_CASE(
    "a .json is stored without its byte order mark, and refused if a member occurs in it twice") {
  const Folders folders;
  const ConvertSummary summary =
      folders.Convert({Member("a.jpg", Jpeg(1)) + Member("a.json", "\xEF\xBB\xBF{\"n\":1}") +
                       Member("b.jpg", Jpeg(2)) + Member("b.json", "{\"n\":1,\"n\":2}") + kEnd});
  CHECK(summary.samples == 1);
  CHECK(AsText(folders.Data().Find("a").fields[1].bytes) == "{\"n\":1}");
  REQUIRE(summary.skipped.size() == 1);
  CHECK_THAT(summary.skipped[0].reason, ContainsSubstring("twice in one object"));
}

TEST_CASE("members that lie apart do not form a sample, and are reported") {
  const Folders folders;
  const ConvertSummary summary =
      folders.Convert({Member("a.jpg", Jpeg()) + Member("b.jpg", Jpeg()) + Member("a.cls", "1") +
                       Member("c.jpg", Jpeg()) + Member("c.cls", "1") + kEnd});
  CHECK(summary.samples == 1);
  REQUIRE(summary.skipped.size() == 3);
  CHECK_THAT(summary.skipped[0].reason,
             ContainsSubstring("but others have one; other members with its name lie elsewhere"));
  CHECK_THAT(summary.skipped[1].reason,
             ContainsSubstring("has no image; other members with its name lie elsewhere"));
  CHECK(summary.skipped[2].reason == "has no .cls, but others have one");
}

TEST_CASE("a damaged, truncated or compressed archive is refused with the place") {
  const Folders folders;
  const auto refusal = [&](const std::string& archive, ErrorCode code) {
    const auto error = ErrorOf([&] { folders.Convert({archive}); });
    REQUIRE(error);
    CHECK(error->code() == code);
    CHECK_THAT(error->file(), ContainsSubstring("part0.tar"));
    return error->place() + ": " + error->sentence();
  };
  const std::string whole = Member("a.jpg", Jpeg()) + Member("b.jpg", Jpeg());
  const std::size_t second = Member("a.jpg", Jpeg()).size();
  CHECK(refusal(whole.substr(0, second + 700), ErrorCode::kCorrupt) ==
        "byte " + std::to_string(second) + ": the archive ends inside of a member");
  CHECK_THAT(refusal(whole.substr(0, second + 300), ErrorCode::kCorrupt),
             ContainsSubstring("cut short"));
  std::string damaged = whole;
  damaged[second + 3] ^= 1;
  CHECK_THAT(refusal(damaged, ErrorCode::kCorrupt),
             ContainsSubstring("byte " + std::to_string(second) + ": "));
  CHECK_THAT(refusal("\x1f\x8b..", ErrorCode::kUnsupported), ContainsSubstring("gzip"));
  CHECK_THAT(refusal("", ErrorCode::kCorrupt), ContainsSubstring("is empty"));
  CHECK_THAT(refusal("tar", ErrorCode::kCorrupt), ContainsSubstring("not a tar archive"));
}

TEST_CASE("concatenated archives are read to the last one, and odd ends are reported") {
  const Folders folders;
  const auto warnings = [](const ConvertSummary& summary) {
    return summary.warnings.empty() ? std::string() : summary.warnings[0];
  };
  const std::string one = Member("a.jpg", Jpeg(1)) + kEnd + std::string(8192, '\0');
  const std::string two = Member("b.jpg", Jpeg(2));
  SECTION("as `cat *.tar` does") {
    const ConvertSummary summary = folders.Convert({one + two + kEnd});
    CHECK(folders.Data().Keys() == std::vector<std::string>{"a", "b"});
    CHECK(warnings(summary).empty());
  }
  SECTION("without the blocks of zeros") {
    const ConvertSummary summary = folders.Convert({one + two, one});
    CHECK(summary.samples == 3);
    CHECK_THAT(warnings(summary),
               ContainsSubstring("part0.tar: ends without an end-of-archive mark"));
  }
  SECTION("with other bytes after the end") {
    std::string damaged = one + two + kEnd;
    damaged[one.size() + 3] ^= 1;  // in the first header of `two`
    const ConvertSummary summary = folders.Convert({damaged, damaged});
    CHECK(summary.samples == 2);
    CHECK_THAT(warnings(summary), ContainsSubstring("2 archives have bytes after their end") &&
                                      ContainsSubstring("such as part0.tar"));
  }
}

TEST_CASE("a hard link in an archive is the file that it links to, under another name") {
  const Folders folders;
  std::string archive = Member("a.jpg", Jpeg(1)) + Member("a.cls", "cat") +
                        Member("b.jpg", "", '1', "a.jpg") + Member("b.cls", "", '1', "a.cls") +
                        Member("c.cls", "owl") + Member("c.jpg", "", '1', "elsewhere.jpg");
  // A member of type L holds the long name of the next one, and one of type K its long link target.
  const std::string target = std::string(150, 'd') + "/e.jpg";  // too long for the header
  archive += Member("././@LongLink", target + '\0', 'L') + Member("d", Jpeg(2)) +
             Member(std::string(150, 'd').substr(0, 90) + ".cls", "owl");
  archive += Member("././@LongLink", target + '\0', 'K') +
             Member("f.jpg", "", '1', target.substr(0, 99)) + Member("f.cls", "owl") + kEnd;
  const ConvertSummary summary = folders.Convert({archive});
  const StoredDataset data = folders.Data();
  CHECK(data.Keys() == std::vector<std::string>{"a", "b", "f"});
  CHECK(data.samples[0].fields[0].bytes == data.samples[1].fields[0].bytes);
  CHECK(data.samples[1].Label() == 0);
  CHECK(data.samples[2].fields[0].bytes != data.samples[0].fields[0].bytes);
  REQUIRE(summary.passed_over.size() == 1);
  CHECK_THAT(summary.passed_over[0].path, ContainsSubstring("c.jpg"));
  CHECK_THAT(summary.passed_over[0].reason, ContainsSubstring("not in the archive"));
}

TEST_CASE("long names and large sizes from tar's extensions are read") {
  const std::string name = std::string(150, 'd') + "/" + std::string(80, 'n') + ".jpg";
  const std::string key = name.substr(0, name.size() - 4);
  const Folders folders;
  SECTION("GNU") {
    folders.Convert(
        {Member("././@LongLink", name + '\0', 'L') + Member(name.substr(0, 99), Jpeg()) + kEnd});
  }
  SECTION("pax") {
    const std::string path = " path=" + name + "\n";
    std::string record = std::to_string(path.size() + 3) + path;
    REQUIRE(record.size() == path.size() + 3);
    folders.Convert({Member("x", record, 'x') + Member("short.jpg", Jpeg()) + kEnd});
  }
  SECTION("ustar's prefix") {
    std::string member = Member(name.substr(151), Jpeg());
    member.replace(345, 150, name.substr(0, 150));
    unsigned sum = 8 * ' ';
    for (std::size_t i = 0; i < 512; ++i)
      sum += i >= 148 && i < 156 ? 0 : static_cast<unsigned char>(member[i]);
    char checksum[8];
    std::snprintf(checksum, sizeof checksum, "%06o", sum);
    member.replace(148, 7, std::string(checksum, 7));
    folders.Convert({member + kEnd});
  }
  CHECK(folders.Data().samples.at(0).key == key);
}

TEST_CASE("archives of the system's tar are read, in each of its formats") {
  const TemporaryFolder folder;
  WriteClasses(folder / "source", 2);
  for (const char* format : {"v7", "ustar", "gnu", "posix"}) {
    INFO(format);
    const std::string archive = (folder / (std::string(format) + ".tar")).string();
    const std::string command = "tar -C '" + (folder / "source").string() + "' --sort=name " +
                                "--format=" + format + " -cf '" + archive + "' .";
    REQUIRE(std::system(command.c_str()) == 0);  // NOLINT
    const auto data = folder / (std::string("data-") + format);
    CHECK(Convert(ConvertSource::Archives({archive}), data).samples == 6);
    CHECK(ReadDataset(data).Find("cow/1").Pixels().width > 90);
  }
}

TEST_CASE(
    "archives may lie anywhere and be read by any number of threads: the bytes are the same") {
  const Folders folders;
  const std::string one = Member("a.jpg", Jpeg(1)) + Member("b.jpg", Jpeg(2)) + kEnd;
  folders.Convert({one, one});
  const auto contents = ContentsOf(folders.folder / "data");
  WriteSource(folders.folder / "else/x.tar", one);
  WriteSource(folders.folder / "else/y.tar", one);
  ConvertOptions options;
  options.shards.keep_order = true;
  options.run.threads = 1;
  Convert(ConvertSource::Archives({folders.folder / "else/x.tar", folders.folder / "else/y.tar"}),
          folders.folder / "again", options);
  CHECK(ContentsOf(folders.folder / "again") == contents);
}

}  // namespace sluice::test
