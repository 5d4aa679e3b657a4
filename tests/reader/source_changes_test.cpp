// Every kind of source against every change to what it is made of, and every way of using it again.
// There is one rule: what comes is what a fresh start gives, or it is refused. (A source that is
// being played may also give what it gave before the change.)
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include <sluice/convert.h>
#include <sluice/dataset.h>
#include <sluice/error.h>
#include <sluice/play_source.h>

#include "format/disk/sample_supply.h"
#include "tests/catch.h"
#include "tests/temporary_folder.h"

using namespace sluice;
using namespace sluice::test;
namespace fs = std::filesystem;

namespace {

constexpr int kPictures = 12;

// Waits for longer than a step of the clock that files' times come from.
void Tick() {
  std::this_thread::sleep_for(std::chrono::milliseconds(15));
}

void Put(const fs::path& file, const std::string& content) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << content;
}

// A picture of one value. All have the same number of bytes.
std::string PictureOf(int value) {
  return "P6 8 6 255\n" + std::string(std::size_t{8} * 6 * 3, static_cast<char>(value));
}

std::string NameOfPicture(int i) {
  return (i % 2 == 0 ? "ant/" : "bee/") + std::to_string(10 + i);
}

void PutPictures(const fs::path& folder, int first_value = 0) {
  for (int i = 0; i < kPictures; ++i)
    Put(folder / (NameOfPicture(i) + ".ppm"), PictureOf(first_value + i));
}

void Tar(const fs::path& folder) {
  const std::string command = "cd " + (folder / "photos").string() +
                              " && tar -cf ../all.tar $(find . -name '*.ppm' | sort)";
  REQUIRE(std::system(command.c_str()) == 0);
}

std::string Coco(int x) {
  std::string images, annotations;
  for (int i = 0; i < kPictures; ++i) {
    const std::string id = std::to_string(i + 1);
    images += (i == 0 ? "" : ",") + (R"({"id":)" + id) + R"(,"width":8,"height":6,"file_name":")" +
              NameOfPicture(i) + R"(.ppm"})";
    annotations += (i == 0 ? "" : ",") + (R"({"id":)" + id) + R"(,"image_id":)" + id +
                   R"(,"category_id":1,"bbox":[)" + std::to_string(x) + ",1,3,3]}";
  }
  return R"({"images":[)" + images + R"(],"annotations":[)" + annotations +
         R"(],"categories":[{"id":1,"name":"ant"}]})";
}

std::string Voc(int x) {
  return "<annotation><object><name>ant</name><bndbox><xmin>1</xmin><ymin>1</ymin><xmax>" +
         std::to_string(x) + "</xmax><ymax>5</ymax></bndbox></object></annotation>";
}

// A mask of 8x6 pixels of value 1 or 2, made by Python's zlib.
std::string MaskOf(int value) {
  const std::string hex =
      value == 1
          ? "89504e470d0a1a0a0000000d4948445200000008000000060800000000db6e80270000000e494441"
            "5478da6360840206521800054600318416035a0000000049454e44ae426082"
          : "89504e470d0a1a0a0000000d4948445200000008000000060800000000db6e80270000000e494441"
            "5478da63608202065218000a560061a62691cf0000000049454e44ae426082";
  std::string bytes;
  for (std::size_t i = 0; i < hex.size(); i += 2)
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  return bytes;
}

using Change = std::function<void(const fs::path&)>;

void ReplaceByRename(const fs::path& file, const std::string& content) {
  Put(file.string() + ".new", content);
  fs::rename(file.string() + ".new", file);
}

// Another folder with the same names and sizes, older than all that was made of the first one.
void SwapFolders(const fs::path& folder) {
  fs::rename(folder / "photos", folder / "gone");
  fs::rename(folder / "others", folder / "photos");
}

const std::map<std::string, Change>& PictureChanges() {
  static const fs::path one = "photos/ant/14.ppm";
  static const std::map<std::string, Change> changes = {
      {"overwritten", [](const fs::path& f) { Put(f / one, PictureOf(200)); }},
      {"renamed over", [](const fs::path& f) { ReplaceByRename(f / one, PictureOf(200)); }},
      {"of another size", [](const fs::path& f) { Put(f / one, PictureOf(200) + "more"); }},
      {"removed", [](const fs::path& f) { fs::remove(f / one); }},
      {"added", [](const fs::path& f) { Put(f / "photos/bee/99.ppm", PictureOf(201)); }},
      {"folders swapped", SwapFolders}};
  return changes;
}

struct Kind {
  std::function<ConvertSource(const fs::path&)> make;
  std::map<std::string, Change> changes;
};

ConvertSource Labelled(const fs::path& folder, AnnotationFormat format, const fs::path& labels) {
  return ConvertSource::Annotated(format, labels, folder / "photos");
}

std::map<std::string, Kind> Kinds() {
  std::map<std::string, Kind> kinds;
  kinds["folder"] = {[](const fs::path& f) { return ConvertSource(f / "photos"); },
                     PictureChanges()};
  kinds["table"] = {[](const fs::path& f) {
                      std::string rows = "path,label\n";
                      for (int i = 0; i < kPictures; ++i)
                        rows += NameOfPicture(i) + ".ppm,x\n";
                      Put(f / "t.csv", rows);
                      ConvertSource source = ConvertSource::Table(f / "t.csv");
                      source.root = f / "photos";
                      return source;
                    },
                    {{"label", [](const fs::path& f) {
                        std::string rows = "path,label\n";
                        for (int i = 0; i < kPictures; ++i)
                          rows += NameOfPicture(i) + (i == 4 ? ".ppm,y\n" : ".ppm,x\n");
                        Put(f / "t.csv", rows);
                      }}}};
  kinds["masks"] = {[](const fs::path& f) {
                      for (int i = 0; i < kPictures; ++i)
                        Put(f / "masks" / (NameOfPicture(i) + ".png"), MaskOf(1));
                      ConvertSource source(f / "photos");
                      source.mask_folder = f / "masks";
                      return source;
                    },
                    {{"mask", [](const fs::path& f) { Put(f / "masks/ant/14.png", MaskOf(2)); }}}};
  kinds["tar"] = {[](const fs::path& f) {
                    Tar(f);
                    return ConvertSource::Archives({f / "all.tar"});
                  },
                  {{"another archive",
                    [](const fs::path& f) {
                      SwapFolders(f);
                      fs::rename(f / "all.tar", f / "old.tar");
                      Tar(f);
                    }},
                   {"overwritten", [](const fs::path& f) {
                      SwapFolders(f);
                      Tar(f);
                    }}}};
  kinds["COCO"] = {[](const fs::path& f) {
                     Put(f / "c.json", Coco(1));
                     return Labelled(f, AnnotationFormat::kCoco, f / "c.json");
                   },
                   {{"box", [](const fs::path& f) { Put(f / "c.json", Coco(2)); }}}};
  kinds["VOC"] = {[](const fs::path& f) {
                    for (int i = 0; i < kPictures; ++i)
                      Put(f / "xml" / (NameOfPicture(i) + ".xml"), Voc(6));
                    return Labelled(f, AnnotationFormat::kVoc, f / "xml");
                  },
                  {{"box", [](const fs::path& f) { Put(f / "xml/ant/14.xml", Voc(7)); }}}};
  kinds["YOLO"] = {
      [](const fs::path& f) {
        for (int i = 0; i < kPictures; ++i)
          Put(f / "txt" / (NameOfPicture(i) + ".txt"), "0 0.5 0.5 0.2 0.2\n");
        Put(f / "data.yaml", "names: [ant, bee]\n");
        return Labelled(f, AnnotationFormat::kYolo, f / "txt");
      },
      {{"box", [](const fs::path& f) { Put(f / "txt/ant/14.txt", "1 0.5 0.5 0.2 0.3\n"); }},
       {"renamed over",
        [](const fs::path& f) { ReplaceByRename(f / "txt/ant/14.txt", "1 0.5 0.5 0.2 0.3\n"); }},
       {"names", [](const fs::path& f) { Put(f / "data.yaml", "names: [bee, ant]\n"); }}}};
  kinds["DOTA"] = {
      [](const fs::path& f) {
        for (int i = 0; i < kPictures; ++i)
          Put(f / "dota" / (NameOfPicture(i) + ".txt"), "1 1 5 1 5 5 1 5 ant 0\n");
        return Labelled(f, AnnotationFormat::kDota, f / "dota");
      },
      {{"box", [](const fs::path& f) { Put(f / "dota/ant/14.txt", "1 1 5 1 5 4 1 4 ant 0\n"); }}}};
  kinds["classes_of"] = {[](const fs::path& f) {
                           Convert(f / "photos", f / "train");
                           ConvertSource source(f / "photos");
                           source.label.classes_of = f / "train";
                           return source;
                         },
                         {{"its classes", [](const fs::path& f) {
                             fs::remove_all(f / "train");
                             ConvertSource other(f / "photos");
                             other.label.classes = {"aardvark", "ant", "bee"};
                             Convert(other, f / "train");
                           }}}};
  return kinds;
}

PlayOptions Raw() {
  PlayOptions options;
  options.form = {.image = ImageCodec::kRaw};
  return options;
}

ConvertOptions RawConversion() {
  ConvertOptions options;
  options.form = {.image = ImageCodec::kRaw};
  return options;
}

using Samples = std::map<std::string, std::string>;  // key -> all that a sample holds

// `faulty`: the keys of samples that could not be read.
Samples SamplesOf(const Dataset& dataset, std::vector<std::string>* faulty = nullptr) {
  Samples samples;
  for (std::uint64_t i = 0; i < dataset.size(); ++i) {
    const Sample sample = dataset[i];
    std::string all;
    try {
      for (const Field& field : dataset.schema().fields) {
        all += field.name;
        for (const std::string& name : field.classes)
          all += "," + name;
        if (!sample.Has(field.name)) continue;
        const std::vector<std::byte> bytes = sample.Copy(field.name);
        all.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      }
      samples[sample.key()] = all;
    } catch (const Error&) {
      if (faulty == nullptr) throw;
      faulty->push_back(sample.key());
    }
  }
  return samples;
}

Samples Without(Samples samples, const std::vector<std::string>& keys) {
  for (const std::string& key : keys)
    samples.erase(key);
  return samples;
}

// A folder with a source and what was made of it.
struct Made {
  TemporaryFolder folder;
  ConvertSource source;

  explicit Made(const Kind& kind) : source((PutPictures(folder / "photos"), "")) {
    Tick();
    PutPictures(folder / "others", 100);
    source = kind.make(folder.path());
  }
  void Apply(const Change& change) const {
    Tick();
    change(folder.path());
  }
  Samples Fresh() const { return SamplesOf(Dataset::Open(PlaySource(source, Raw()))); }
};

// Calls for each kind and change; `made` is as before the change.
void ForEachChange(const std::function<void(Made& made, const Change& change)>& call) {
  for (const auto& [kind_name, kind] : Kinds()) {
    for (const auto& [name, change] : kind.changes) {
      INFO(kind_name << ": " << name);
      Made made(kind);
      call(made, change);
    }
  }
}

}  // namespace

TEST_CASE("A conversion that is repeated after a change is refused, or is of the changed source") {
  ForEachChange([](Made& made, const Change& change) {
    const fs::path data = made.folder / "data";
    Convert(made.source, data, RawConversion());
    const Samples before = SamplesOf(Dataset::Open(data));
    made.Apply(change);
    const Samples fresh = made.Fresh();
    REQUIRE(fresh != before);
    try {
      Convert(made.source, data, RawConversion());
      CHECK(SamplesOf(Dataset::Open(data)) == fresh);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::kExists);
      CHECK(SamplesOf(Dataset::Open(data)) == before);
    }
  });
}

TEST_CASE("An index of a source that was changed is refused, or gives the changed source") {
  ForEachChange([](Made& made, const Change& change) {
    PlayOptions options = Raw();
    options.index = made.folder / "index";
    const Samples before = SamplesOf(Dataset::Open(PlaySource(made.source, options)));
    made.Apply(change);
    const Samples fresh = made.Fresh();
    try {
      std::vector<std::string> faulty;
      const Samples now = SamplesOf(Dataset::Open(PlaySource(made.source, options)), &faulty);
      // Pictures that were added are not in the list; the pages say so.
      for (const auto& [key, content] : now)
        CHECK(fresh.at(key) == content);
      CHECK(now == Without(before, faulty));
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::kExists);
    }
  });
}

TEST_CASE("A source that is changed while it is played gives what was listed, or faults") {
  ForEachChange([](Made& made, const Change& change) {
    const Dataset played = Dataset::Open(PlaySource(made.source, Raw()));
    const Samples before = SamplesOf(played);
    made.Apply(change);
    std::vector<std::string> faulty;
    const Samples now = SamplesOf(played, &faulty);
    CHECK(now == Without(before, faulty));
  });
}

TEST_CASE("A dataset that was compiled from a source before a change is not played for it") {
  ForEachChange([](Made& made, const Change& change) {
    const fs::path data = made.folder / "data";
    Convert(made.source, data, RawConversion());
    made.Apply(change);
    const Samples fresh = made.Fresh();
    PlayOptions options = Raw();
    options.compile_to = data;
    std::mutex mutex;
    bool warned = false;
    options.on_warning = [&](const std::string& text) {
      const std::lock_guard lock(mutex);
      warned = warned || text.find("not compiled any further") != std::string::npos;
    };
    try {
      const auto supply = PlaySource(made.source, options);
      for (;;) {
        CHECK(SamplesOf(Dataset::Open(supply)) == fresh);
        const std::lock_guard lock(mutex);
        if (warned) break;
      }
      CHECK(supply->work().compiled == 0);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::kExists);
    }
  });
}
