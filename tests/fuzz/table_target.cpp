// Tables of samples: comma or tab separated, or JSON lines.
#include <fstream>

#include <sluice/error.h>

#include "format/disk/limits.h"
#include "tests/fuzz/targets.h"
#include "tests/pictures.h"
#include "tests/temporary_folder.h"
#include "writer/convert/sample_encoder.h"
#include "writer/source/records/records.h"

namespace sluice::fuzz {

namespace {

constexpr std::size_t kMaxEncoded = 4;  // rows that are converted

void WriteBytesTo(const std::filesystem::path& path, Bytes content) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(content.data()),
             static_cast<std::streamsize>(content.size()));
}

// The folder for tables, with a picture and a mask that rows can name.
const std::filesystem::path& TableFolder() {
  static const test::TemporaryFolder folder;
  static const bool filled = [] {
    static constexpr unsigned char kMaskPng[] = {
        // 16 x 8, grey
        137, 80,  78, 71,  13,  10, 26, 10,  0,   0,   0,  13,  73,  72,  68,  82,  0,
        0,   0,   16, 0,   0,   0,  8,  8,   0,   0,   0,  0,   213, 29,  32,  75,  0,
        0,   0,   24, 73,  68,  65, 84, 120, 218, 99,  96, 96,  100, 98,  198, 139, 25,
        208, 197, 24, 208, 213, 48, 80, 193, 12,  0,   51, 136, 0,   193, 50,  200, 211,
        46,  0,   0,  0,   0,   73, 69, 78,  68,  174, 66, 96,  130};
    WriteBytesTo(folder / "a.jpg", test::MakeJpeg(test::MakePicture(16, 8)));
    WriteBytesTo(folder / "m.png", std::as_bytes(std::span(kMaskPng)));
    return true;
  }();
  static_cast<void>(filled);
  return folder.path();
}

// `choice` selects the columns and the form of boxes.
std::vector<Column> ColumnsOf(std::uint8_t choice) {
  const std::vector<Column> all = {
      {"label", ColumnType::kClass},  {"tags", ColumnType::kClasses},
      {"count", ColumnType::kInt},    {"targets", ColumnType::kFloats},
      {"boxes", ColumnType::kBoxes},  {"kinds", ColumnType::kBoxClasses},
      {"caption", ColumnType::kText}, {"meta", ColumnType::kJson},
      {"mask", ColumnType::kMask},    {"weight", ColumnType::kFloat},
  };
  if (choice % 4 == 0) return {};
  std::vector<Column> columns;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (choice % 4 == 1 || (choice / 4 + i) % 3 != 0) columns.push_back(all[i]);
  }
  for (Column& column : columns) {
    column.boxes = static_cast<BoxFormat>(choice / 64 % 3);
    column.relative = (choice & 16) != 0;
  }
  return columns;
}

void CheckList(const SourceList& list) {
  const Schema schema = list.MakeSchema();
  schema.Validate();
  Promise(!list.sources.empty(), "a table that was read has rows");
  for (std::size_t i = 0; i < list.sources.size(); ++i) {
    if (list.labelled) {
      const auto label = static_cast<std::size_t>(list.sources[i].label);
      Promise(label < list.classes.size(), "a row's class has a name");
    }
    for (std::size_t f = 0; f < list.fields.size(); ++f) {
      const std::optional<Bytes> value = list.Value(i, f);
      if (!value) continue;
      const SourceField& field = list.fields[f];
      if (field.feed == Feed::kBoxes) {
        Promise(value->size() % (4 * sizeof(double)) == 0, "a box has four numbers");
      }
      if (field.feed == Feed::kElements && field.field.kind == FieldKind::kArray) {
        std::size_t elements = 1;
        for (const std::uint32_t extent : field.field.shape)
          elements *= extent;
        Promise(value->size() == elements * SizeOf(field.field.dtype), "an array is whole");
      }
    }
  }
  ConvertOptions options;
  options.geometry.max_side = 8;
  SampleEncoder encoder(list, options, schema, kPageBytes, 0);
  for (std::size_t i = 0; i < std::min(kMaxEncoded, list.sources.size()); ++i)
    Promise(encoder.Encode(i).reason.size() <= kMaxReasonBytes, "a reason is short");
}

}  // namespace

// The input has a byte for the kind of table, one for the columns, and the table.
void RunTable(Bytes input) {
  InputReader reader(input);
  const char* const endings[] = {".csv", ".tsv", ".jsonl"};
  const std::string name = std::string("table") + endings[reader.Take<std::uint8_t>() % 3];
  ConvertSource source = ConvertSource::Table(TableFolder() / name);
  source.rows.columns = ColumnsOf(reader.Take<std::uint8_t>());
  WriteBytesTo(source.table, reader.rest());
  SourceList list;
  list.SetRoot(TableFolder(), {});
  try {
    CheckList(ReadTable(source, std::move(list), 1, {}));
  } catch (const Error&) {
    return;
  }
}

std::vector<Input> TableSeeds() {
  std::vector<Input> seeds;
  const auto add = [&seeds](std::uint8_t kind, std::uint8_t columns, std::string_view text) {
    Input seed{static_cast<std::byte>(kind), static_cast<std::byte>(columns)};
    const Input rest = ToInput(text);
    seed.insert(seed.end(), rest.begin(), rest.end());
    seeds.push_back(std::move(seed));
  };
  const std::string_view rows =
      "path,label,tags,count,targets,boxes,kinds,caption,meta,mask,weight\r\n"
      "a.jpg,cat,\"a,b\",3,1 2.5,\"1,2,7,6\",owl,\"say \"\"hi\"\"\",\"{\"\"a\"\":[1]}\",m.png,.5\n"
      "\n"
      "a.jpg,owl,,-4,\"[3,4e1]\",,,,null,,1\n";
  add(0, 1, rows);
  add(0, 1 + 16 + 64, rows);
  add(0, 2 + 32 + 128, rows);
  add(0, 0, "file,class,text\na.jpg,1,x\na.jpg,0,\xff\n");
  add(1, 0, "\xef\xbb\xbfpath\tlabel\na.jpg\tcat\nno.jpg\tdog\n");
  add(2, 1,
      "{\"path\":\"a.jpg\",\"label\":7,\"tags\":[\"a\",\"b\"],\"count\":1,\"targets\":[[1],[2]],"
      "\"boxes\":[[0,0,4,4],[1,1,2,2]],\"kinds\":[\"x\",\"y\"],\"caption\":\"\\u00fc\","
      "\"meta\":{\"k\":[null,true]},\"mask\":\"m.png\",\"weight\":1e-3}\n"
      "{\"path\":\"./"
      "a.jpg\",\"label\":8,\"tags\":[],\"count\":0,\"targets\":[0,1],\"weight\":2}\n");
  add(2, 0, "{\"image\":\"a.jpg\",\"caption\":null}\n\n{\"image\":\"../a.jpg\"}\n");
  return seeds;
}

}  // namespace sluice::fuzz
