#include "tools/export.h"

#include <algorithm>
#include <fstream>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <sluice/dataset.h>
#include <sluice/error.h>

#include "tools/cli/exit_code.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/output.h"
#include "tools/cli/progress.h"
#include "tools/cli/quantity.h"
#include "tools/edit_command.h"
#include "tools/export_files.h"
#include "tools/inspect_sample.h"

namespace sluice {
namespace {

constexpr const char* kExportDescription =
    "Takes a dataset's samples out again, as files.\n\n"
    "FOLDER is created. Images go to FOLDER/images under their keys: JPEGs with the very bytes "
    "that\n"
    "are stored, packed images as the JPEGs they stand for, raw pixels as PNG. Masks and further\n"
    "images go to folders of their fields' names, and so do bytes that are neither text nor JSON.\n"
    "FOLDER/labels.csv has a row for each sample: the file's path, its key, and every other "
    "field,\n"
    "classes by name; FOLDER/classes.txt has the classes in the order of their numbers.\n"
    "`sluice convert --table labels.csv --classes classes.txt` reads both. Samples that are "
    "damaged\n"
    "are left out and named.\n";

constexpr const char* kExportExamples =
    "\nExamples:\n"
    "  sluice export data/photos photos-again/\n\n";

struct ExportArguments {
  std::string dataset;
  std::string folder;
  EditOutput output;
};

class Export {
 public:
  Export(const Dataset& dataset, const std::filesystem::path& folder)
      : dataset_(dataset), folder_(folder), names_(dataset.schema().fields.size()) {
    std::error_code error;
    if (std::filesystem::exists(folder) && !std::filesystem::is_empty(folder, error)) {
      throw Error(ErrorCode::kExists, folder.string(),
                  "is not empty; name a folder that does not exist yet, or empty this one");
    }
    std::filesystem::create_directories(folder);
    table_.open(folder / "labels.csv", std::ios::binary);
    WriteHeadings();
    WriteClasses();
  }

  void Add(std::uint64_t index) {
    const Sample sample = dataset_[index];
    const std::string key = sample.key();
    std::string row;
    std::string cells;
    const auto& fields = dataset_.schema().fields;
    for (std::size_t f = 0; f < fields.size(); ++f) {
      const std::string cell = Cell(sample, key, f);
      (f == first_image_ ? row : cells) += (f == first_image_ ? "" : ",") + CsvCell(cell);
    }
    table_ << row << ',' << CsvCell(key) << cells << '\n';
    CheckTable();
    ++samples_;
  }

  void Finish() {
    table_.close();
    CheckTable();
  }

  std::uint64_t samples() const { return samples_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  // The path is that of the first image.
  void WriteHeadings() {
    const auto& fields = dataset_.schema().fields;
    std::string row = "path,key";
    for (std::size_t f = 0; f < fields.size(); ++f) {
      if (fields[f].kind == FieldKind::kImage && !first_image_) {
        first_image_ = f;
        continue;
      }
      // A field of one of the two names would make a heading stand there twice.
      const bool taken = fields[f].name == "path" || fields[f].name == "key";
      row += "," + CsvCell(fields[f].name + (taken ? "-field" : ""));
    }
    table_ << row << '\n';
    CheckTable();
  }

  // Of the first field that has any, as `sluice convert --classes` takes them: one a line or, where
  // a name has lines itself, between zero bytes.
  void WriteClasses() {
    for (const Field& field : dataset_.schema().fields) {
      if (field.role != Role::kLabel || field.classes.empty()) continue;
      const bool lines = std::none_of(
          field.classes.begin(), field.classes.end(),
          [](const std::string& name) { return name.find_first_of("\r\n") != std::string::npos; });
      std::string text;
      for (const std::string& name : field.classes)
        text += name + (lines ? '\n' : '\0');
      const std::filesystem::path path = folder_ / "classes.txt";
      std::ofstream file(path, std::ios::binary);
      file << text;
      file.close();
      if (!file) throw Error(ErrorCode::kIo, path.string(), "cannot be written");
      return;
    }
  }

  void CheckTable() {
    if (!table_)
      throw Error(ErrorCode::kIo, (folder_ / "labels.csv").string(), "cannot be written");
  }

  std::string Cell(const Sample& sample, const std::string& key, std::size_t f) {
    const Field& field = dataset_.schema().fields[f];
    if (!sample.Has(field.name)) return {};
    if (field.kind == FieldKind::kImage) return WriteImage(sample, key, f);
    if (field.kind == FieldKind::kBytes) {
      if (field.role == Role::kText || field.role == Role::kJson) {
        return std::string(sample.Text(field.name));
      }
      const std::string name = names_[f].NameFor(key, ".bin");
      const auto bytes = sample.Bytes(field.name);
      return Write(field.name, name, reinterpret_cast<const char*>(bytes.data()), bytes.size());
    }
    const nlohmann::ordered_json values = ValuesJson(sample, field);
    if (field.classes.empty()) {
      return values.size() == 1 && field.shape.empty() && field.kind == FieldKind::kArray
                 ? values[0].dump()
                 : Rows(values, field).dump();
    }
    std::vector<std::string> names;
    for (const auto& value : values) {
      const auto number = value.is_number_integer() ? value.get<std::int64_t>() : -1;
      const bool known = number >= 0 && static_cast<std::size_t>(number) < field.classes.size();
      names.push_back(known ? field.classes[static_cast<std::size_t>(number)] : value.dump());
    }
    const bool one = field.kind == FieldKind::kArray && field.shape.empty();
    return one ? names.at(0) : NamesCell(names);
  }

  // Boxes and the like as a list of rows.
  static nlohmann::ordered_json Rows(const nlohmann::ordered_json& values, const Field& field) {
    const std::size_t inner = field.elements();
    if (field.kind != FieldKind::kVariable || inner <= 1) return values;
    auto rows = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < values.size(); i += inner) {
      auto row = nlohmann::ordered_json::array();
      for (std::size_t k = i; k < i + inner; ++k)
        row.push_back(values[k]);
      rows.push_back(std::move(row));
    }
    return rows;
  }

  std::string WriteImage(const Sample& sample, const std::string& key, std::size_t f) {
    const Field& field = dataset_.schema().fields[f];
    const std::string folder = f == first_image_ ? "images" : field.name;
    const ImagePayload payload = sample.Payload(field.name);
    if (payload.codec == Codec::kJpeg || payload.codec == Codec::kPacked) {
      const std::vector<std::byte> jpeg = JpegFileOf(payload);
      return Write(folder, names_[f].NameFor(key, ".jpg"),
                   reinterpret_cast<const char*>(jpeg.data()), jpeg.size());
    }
    const std::vector<char> file = EncodePng(sample.Decode(field.name));
    return Write(folder, names_[f].NameFor(key, ".png"), file.data(), file.size());
  }

  // Returns the path for the table.
  std::string Write(const std::string& field, const std::string& name, const char* bytes,
                    std::size_t size) {
    ExportNames safe;  // a field's name may be anything, too
    const std::filesystem::path relative = std::filesystem::path(safe.NameFor(field, "")) / name;
    const std::filesystem::path path = folder_ / relative;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream file(path, std::ios::binary);
    file.write(bytes, static_cast<std::streamsize>(size));
    file.close();
    if (!file) throw Error(ErrorCode::kIo, path.string(), "cannot be written");
    bytes_ += size;
    return relative.native();
  }

  const Dataset& dataset_;
  std::filesystem::path folder_;
  std::optional<std::size_t> first_image_;
  std::vector<ExportNames> names_;  // of each field
  std::ofstream table_;
  std::uint64_t samples_ = 0;
  std::uint64_t bytes_ = 0;
};

int RunExport(ExportArguments& arguments) {
  const Dataset dataset = Dataset::Open(arguments.dataset);
  Export out(dataset, arguments.folder);
  std::vector<std::string> damaged;
  const bool done =
      RunEdit(arguments.output, "exporting", "exporting " + cli::Printable(arguments.dataset),
              [&](const EditHooks& hooks) {
                for (std::uint64_t i = 0; i < dataset.size(); ++i) {
                  if (hooks.stop.stop_requested()) {
                    throw Error(ErrorCode::kState, arguments.folder,
                                "holds " + std::to_string(i) + " of the samples");
                  }
                  try {
                    out.Add(i);
                  } catch (const Error& error) {
                    if (error.code() == ErrorCode::kIo) throw;
                    damaged.push_back("sample " + std::to_string(i) + ": " + error.what());
                  }
                  hooks.on_progress(i + 1, dataset.size());
                }
                out.Finish();
              });
  if (!done) return cli::kInterrupted;
  if (arguments.output.json) {
    cli::PrintJson({{"folder", arguments.folder},
                    {"samples", out.samples()},
                    {"bytes", out.bytes()},
                    {"damaged", damaged}});
  } else {
    std::string text;
    for (const std::string& sample : damaged)
      text += "left out: " + cli::Printable(sample) + "\n";
    if (!arguments.output.quiet) {
      text += cli::Printable(arguments.folder) + ": " +
              cli::CountText(out.samples(), "sample", "samples") + ", " +
              cli::BytesText(out.bytes()) + "\n";
    }
    cli::PrintOut(text);
  }
  return damaged.empty() ? cli::kDone : cli::kSomeLeftOut;
}

}  // namespace

cli::Command AddExportCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("export", kExportDescription);
  const auto arguments = std::make_shared<ExportArguments>();
  app->add_option("DATASET", arguments->dataset, "folder of the dataset")
      ->required()
      ->type_name("");
  app->add_option("FOLDER", arguments->folder, "folder to create")->required()->type_name("");
  AddOutputOptions(*app, arguments->output);
  app->footer(std::string(kExportExamples) + cli::kExitCodeHelp);
  return {app, [arguments] { return RunExport(*arguments); }};
}

}  // namespace sluice
