// `sluice export`: a dataset's samples as files, and a table of them that `sluice convert` reads.
//
// Threads write the samples' files in any order, but names and rows do not depend on that: names
// are chosen for all samples beforehand (export_files.h), and rows that come early wait in
// ExportTable.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

#include <nlohmann/json.hpp>

#include <sluice/cpu.h>
#include <sluice/dataset.h>
#include <sluice/error.h>
#include <sluice/loader_option_list.h>
#include <sluice/shown_path.h>
#include <sluice/work_folder.h>

#include "tools/cli/declared.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/program.h"
#include "tools/cli/quantity.h"
#include "tools/cli/terminal.h"
#include "tools/commands.h"
#include "tools/edit_command.h"
#include "tools/export_coco.h"
#include "tools/export_files.h"
#include "tools/samples.h"

namespace sluice {
namespace {

constexpr const char* kExportDescription =
    "Takes a dataset's samples out again, as files.\n\n"
    "FOLDER is created. Images go to FOLDER/images under their keys: JPEGs with their stored "
    "bytes, packed images as the JPEGs they were made from, raw pixels as PNG, and images that no "
    "PNG holds as NPY or TIFF. Masks and further "
    "images go to folders with their fields' names, and so do bytes that are neither text nor "
    "JSON. If two keys would give the same file name, a number is added (x-1.jpg). "
    "FOLDER/labels.csv has a row for each sample: the path of its image, its key, and every other "
    "field, with classes by name. FOLDER/classes/FIELD.txt has a field's classes in the order of "
    "their numbers, and FOLDER/classes.txt has those of the label. `sluice convert --table "
    "labels.csv --classes classes.txt` converts the samples again. If they have fields besides "
    "label and text, name every field: `--field label=class --field "
    "tags=classes,classes=classes/tags.txt`. With --coco, FOLDER/instances.json has boxes, "
    "classes, "
    "outlines and key points in COCO's form. Damaged samples are left out and named.\n";

constexpr const char* kExportExamples =
    "\nExamples:\n"
    "  sluice export data/photos photos-again/\n"
    "  sluice export data/coco coco-again/ --coco\n"
    "  sluice export data/patches patches-again/ --wide tiff\n\n";

constexpr const char* kCocoName = "instances.json";

// The files of images that are wide: neither a JPEG nor a PNG of 8 bits holds them.
enum class WideFiles { kNpy, kTiff };

struct ExportArguments {
  std::string dataset;
  std::string folder;
  WideFiles wide = WideFiles::kNpy;
  bool no_formulas = false;
  bool coco = false;
  unsigned threads = 0;
  EditOutput output;
  ReadLimits limits;
};

// The result of exporting one sample.
struct ExportedSample {
  std::string row;          // without its line's end
  CocoEntries coco;         // with --coco
  std::string trouble;      // why the sample is left out; `row` is then empty
  std::uint64_t bytes = 0;  // of its files
};

// labels.csv, filled by several threads. Rows arrive in any order and are written in the samples'
// order. Rows that wait for an earlier one take at most 16 MiB; beyond that, only the next row in
// order is admitted. Thread-safe.
class ExportTable {
 public:
  // Calls `on_written` for each sample, in order and one at a time, once its row is written (a
  // sample that is left out has none). Throws Error(kIo) if the file cannot be written; so do Put()
  // and Close(). Without Close(), the file is removed again.
  ExportTable(const std::filesystem::path& file, const std::string& headings,
              std::function<void(std::uint64_t index, const ExportedSample& sample)> on_written)
      : on_written_(std::move(on_written)), file_(file) {
    Write(headings);
  }

  // Adds the result of sample `index`, counted from 0. Waits for room; does nothing after End().
  void Put(std::uint64_t index, ExportedSample sample) {
    const std::uint64_t bytes = BytesOf(sample);
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] {
      return ended_ || index == next_ || waiting_bytes_ + bytes <= kMaxWaitingBytes;
    });
    if (ended_) return;
    waiting_bytes_ += bytes;
    waiting_.emplace(index, std::move(sample));
    while (!waiting_.empty() && waiting_.begin()->first == next_) {
      const ExportedSample& written = waiting_.begin()->second;
      if (written.trouble.empty()) Write(written.row);
      on_written_(next_++, written);
      waiting_bytes_ -= BytesOf(written);
      waiting_.erase(waiting_.begin());
    }
    room_.notify_all();
  }

  // Wakes all waiting threads; from then on Put() returns at once.
  void End() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    room_.notify_all();
  }

  // Completes the file. Call it after the last row.
  void Close() {
    file_.Write(buffer_);
    file_.Close();
  }

 private:
  static constexpr std::uint64_t kMaxWaitingBytes = 16 << 20;

  static std::uint64_t BytesOf(const ExportedSample& sample) noexcept {
    constexpr std::uint64_t kNode = 64;  // the approximate overhead of a map entry
    return sizeof sample + kNode + sample.row.size() + sample.coco.bytes() + sample.trouble.size();
  }

  void Write(const std::string& row) {
    constexpr std::size_t kEnough = 64 << 10;
    buffer_ += row;
    buffer_ += '\n';
    if (buffer_.size() < kEnough) return;
    file_.Write(buffer_);
    buffer_.clear();
  }

  const std::function<void(std::uint64_t, const ExportedSample&)> on_written_;
  std::mutex mutex_;
  std::condition_variable room_;
  NewFile file_;
  std::string buffer_;                               // rows to be written next
  std::map<std::uint64_t, ExportedSample> waiting_;  // by index
  std::uint64_t waiting_bytes_ = 0;
  std::uint64_t next_ = 0;  // the index of the next row to write
  bool ended_ = false;
};

std::optional<std::size_t> FirstImage(const Schema& schema) {
  for (std::size_t f = 0; f < schema.fields.size(); ++f) {
    if (schema.fields[f].kind == FieldKind::kImage) return f;
  }
  return std::nullopt;
}

// PNG has integers without a sign, in up to four channels; NPY and TIFF hold any image as it is.
std::string EndingOf(const ImagePayload& image, WideFiles wide) {
  if (image.codec == Codec::kJpeg || image.codec == Codec::kPacked) return ".jpg";
  if (wide == WideFiles::kTiff && IsWide(image.pixel_type, image.channels)) return ".tif";
  return image.pixel_type <= PixelType::kUint16 && image.channels <= 4 ? ".png" : ".npy";
}

// Chooses names for the samples that can be read. A sample that cannot be read is left out when its
// turn comes.
ExportNames NamesOf(const Dataset& dataset, const ReadableSamples& readable, WideFiles wide,
                    const std::stop_token& stop) {
  ExportSamples samples;
  samples.count = readable.size();
  samples.key = [&](std::uint64_t i) -> std::optional<std::string> {
    if (stop.stop_requested()) throw Error(ErrorCode::kState, "nothing has been written yet");
    try {
      return dataset[readable[i]].key();
    } catch (const Error&) {
      return std::nullopt;
    }
  };
  samples.ending = [&](std::uint64_t i) -> std::string {
    if (dataset.images().empty()) return ".bin";
    try {
      const Sample sample = dataset[readable[i]];
      return sample.Has(dataset.images()[0].field) ? EndingOf(sample.Shape(), wide) : "";
    } catch (const Error&) {
      return "";
    }
  };
  return ExportNames(samples);
}

void WriteNew(const std::filesystem::path& path, std::string_view bytes) {
  NewFile file(path);
  file.Write(bytes);
  file.Close();
}

class Export {
 public:
  Export(const Dataset& dataset, const ReadableSamples& readable, const ExportArguments& arguments,
         const WorkFolder& work, const std::stop_token& stop)
      : dataset_(dataset),
        readable_(readable),
        folder_(arguments.folder),
        work_(work),
        no_formulas_(arguments.no_formulas),
        first_image_(FirstImage(dataset.schema())),
        folders_(ExportFolders(dataset.schema(), first_image_)),
        wide_(arguments.wide),
        names_(NamesOf(dataset, readable, arguments.wide, stop)) {
    std::filesystem::create_directories(folder_);
    WriteClasses();
    if (!arguments.coco) return;
    work_.Record(kCocoName);
    coco_.emplace(dataset, folder_ / kCocoName);
  }

  // Adds a sample's entries to COCO's file, if there is one. Call it in the samples' order.
  void AddCoco(const ExportedSample& made) {
    if (coco_ && made.trouble.empty()) coco_->Add(made.coco);
  }
  void Close() {
    if (coco_) coco_->Close();
  }

  // The first row of the table. Its column "path" has the path of the first image field's file.
  std::string Headings() const {
    const std::vector<std::string> headings = ExportHeadings(dataset_.schema());
    std::string row = "path,key";
    for (std::size_t f = 0; f < headings.size(); ++f) {
      if (f != first_image_) row += "," + TableCell(headings[f]);
    }
    return row;
  }

  // Writes the files of the i-th readable sample, and makes its row. Thread-safe.
  ExportedSample Add(std::uint64_t i) const {
    ExportedSample made;
    try {
      const Sample sample = dataset_[readable_[i]];
      const std::string key = sample.key();
      std::string cells;
      const auto& fields = dataset_.schema().fields;
      for (std::size_t f = 0; f < fields.size(); ++f) {
        const std::string cell = Cell({sample, key, i}, f, made.bytes);
        if (f == first_image_)
          made.row = cell;
        else
          cells += "," + TableCell(cell);
      }
      if (coco_ && !made.row.empty()) {
        const std::filesystem::path file = made.row;
        made.coco = coco_->Of(sample, readable_[i], file.lexically_relative("images").native());
      }
      made.row = TableCell(made.row) + ',' + TableCell(key) + cells;
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kIo || error.code() == ErrorCode::kMemory) throw;
      made.trouble = error.what();
    }
    return made;
  }

 private:
  struct Exporting {
    const Sample& sample;
    const std::string& key;
    std::uint64_t position;  // among the readable samples
  };

  std::string TableCell(const std::string& text) const {
    return CsvCell(no_formulas_ ? NoFormula(text) : text);
  }

  void WriteClasses() {
    const std::vector<std::string> files = ExportClassFiles(dataset_.schema());
    const std::size_t label = dataset_.schema().ClassField();
    bool first = true;
    for (std::size_t f = 0; f < files.size(); ++f) {
      const Field& field = dataset_.schema().fields[f];
      if (field.role != Role::kLabel || field.classes.empty()) continue;
      const std::string text = ClassesText(field.classes);
      // classes.txt has the classes of the label or, without a label, of the first field with
      // classes.
      if (f == label || (first && label == Schema::kNone)) {
        work_.Record("classes.txt");
        WriteNew(folder_ / "classes.txt", text);
      }
      first = false;
      work_.Record("classes/" + files[f] + ".txt");
      std::filesystem::create_directory(folder_ / "classes");
      WriteNew(folder_ / "classes" / (files[f] + ".txt"), text);
    }
  }

  // The class names in the form that `sluice convert` takes: one a line or, if a name contains a
  // line break, separated by zero bytes.
  static std::string ClassesText(const std::vector<std::string>& names) {
    const bool lines = std::none_of(names.begin(), names.end(), [](const std::string& name) {
      return name.find_first_of("\r\n") != std::string::npos;
    });
    std::string text;
    for (const std::string& name : names)
      text += name + (lines ? '\n' : '\0');
    return text;
  }

  // Returns the cell of field `f`, and writes the field's file if it has one. Adds the file's size
  // to `bytes`.
  std::string Cell(const Exporting& of, std::size_t f, std::uint64_t& bytes) const {
    const Field& field = dataset_.schema().fields[f];
    const Sample& sample = of.sample;
    if (!sample.Has(field.name)) return {};
    if (field.kind == FieldKind::kImage) return WriteImage(of, f, bytes);
    if (field.kind == FieldKind::kBytes) {
      if (field.role == Role::kText || field.role == Role::kJson) {
        return std::string(sample.Text(field.name));
      }
      const auto content = sample.Bytes(field.name);
      return Write(of, f, ".bin", reinterpret_cast<const char*>(content.data()), content.size(),
                   bytes);
    }
    const nlohmann::ordered_json values = ValuesJson(sample, field);
    if (field.classes.empty()) {
      return values.size() == 1 && field.shape.empty() && field.kind == FieldKind::kArray
                 ? values[0].dump()
                 : Shaped(values, field).dump();
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

  // Nests a value's numbers in lists, as its shape says: boxes are lists of four numbers.
  static nlohmann::ordered_json Shaped(nlohmann::ordered_json values, const Field& field) {
    // An array's outermost extent is the list itself; for a variable field, the count of numbers
    // gives the length of the outermost list.
    const std::size_t outer = field.kind == FieldKind::kVariable ? 0 : 1;
    for (std::size_t extent = field.shape.size(); extent > outer; --extent) {
      auto lists = nlohmann::ordered_json::array();
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (i % field.shape[extent - 1] == 0) lists.push_back(nlohmann::ordered_json::array());
        lists.back().push_back(std::move(values[i]));
      }
      values = std::move(lists);
    }
    return values;
  }

  std::string WriteImage(const Exporting& of, std::size_t f, std::uint64_t& bytes) const {
    const Field& field = dataset_.schema().fields[f];
    const ImagePayload payload = of.sample.Payload(field.name);
    const std::string ending = EndingOf(payload, wide_);
    if (ending == ".jpg") {
      const std::vector<std::byte> jpeg = JpegFileOf(payload);
      return Write(of, f, ending, reinterpret_cast<const char*>(jpeg.data()), jpeg.size(), bytes);
    }
    const Image image = of.sample.Decode(field.name);
    const std::vector<char> file = ending == ".npy"   ? EncodeNpy(image)
                                   : ending == ".tif" ? Tiff(of.sample, f, image)
                                                      : EncodePng(image);
    return Write(of, f, ending, file.data(), file.size(), bytes);
  }

  // With the tags that the sample has for its first image.
  std::vector<char> Tiff(const Sample& sample, std::size_t f, const Image& image) const {
    const Schema& schema = dataset_.schema();
    const auto no_data = schema.fields[f].attributes.find("no_data");
    const std::size_t geo = schema.Find("geo");
    const bool tags = f == first_image_ && geo != Schema::kNone &&
                      schema.fields[geo].role == Role::kJson && sample.Has("geo");
    return EncodeTiff(image, no_data == schema.fields[f].attributes.end() ? "" : no_data->second,
                      tags ? sample.Text("geo") : std::string_view());
  }

  // Writes a file of field `f`, and adds its size to `bytes`. Returns its path for the table.
  std::string Write(const Exporting& of, std::size_t f, const std::string& ending,
                    const char* content, std::size_t size, std::uint64_t& bytes) const {
    const std::filesystem::path relative =
        std::filesystem::path(folders_[f]) / names_.NameFor(of.position, of.key, ending);
    work_.Record(relative.native());
    WriteNew(folder_ / relative, {content, size});
    bytes += size;
    return relative.native();
  }

  const Dataset& dataset_;
  const ReadableSamples& readable_;
  std::filesystem::path folder_;
  const WorkFolder& work_;
  bool no_formulas_;
  std::optional<std::size_t> first_image_;
  std::vector<std::string> folders_;  // of each field's files
  WideFiles wide_;
  ExportNames names_;
  std::optional<CocoFile> coco_;
};

void RequireEmpty(const std::filesystem::path& folder) {
  if (IsStoreUrl(folder.string())) {
    throw cli::UsageError("export writes files to a local disk; upload them to \"" +
                          ShownPath(folder.string()) + "\" afterwards");
  }
  std::error_code error;
  const bool there = std::filesystem::exists(folder, error);
  if (there && !std::filesystem::is_empty(folder, error) &&
      (!WorkFolder::IsAt(folder) || std::filesystem::exists(folder / "manifest.json", error))) {
    throw Error(ErrorCode::kExists, folder.string(),
                "is not empty; empty it, or choose a folder that does not exist yet");
  }
}

struct ExportTotals {
  std::uint64_t samples = 0;
  std::uint64_t bytes = 0;
};

// Threads write files in any order, but the table's rows in the samples' order, so the result is
// the same for any number of threads.
ExportTotals ExportAll(ReadableSamples& samples, Export& out, const ExportArguments& arguments,
                       const EditHooks& hooks) {
  ExportTotals totals;
  std::uint64_t done = 0;
  ExportTable table(std::filesystem::path(arguments.folder) / "labels.csv", out.Headings(),
                    [&](std::uint64_t i, const ExportedSample& made) {
                      totals.bytes += made.bytes;
                      totals.samples += made.trouble.empty() ? 1 : 0;
                      out.AddCoco(made);
                      if (!made.trouble.empty()) samples.LeaveOut(samples[i], made.trouble);
                      done = i + 1;
                      hooks.on_progress(done, samples.size());
                    });
  std::atomic<std::uint64_t> next{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  std::exception_ptr error;
  const auto work = [&] {
    try {
      while (!failed && !hooks.stop.stop_requested()) {
        const std::uint64_t i = next++;
        if (i >= samples.size()) return;
        table.Put(i, out.Add(i));
      }
    } catch (...) {
      failed = true;
      {
        const std::lock_guard lock(mutex);
        if (!error) error = std::current_exception();
      }
      table.End();
    }
  };
  {
    const unsigned wanted = arguments.threads != 0 ? arguments.threads : AvailableCpus();
    const std::uint64_t threads = std::min<std::uint64_t>(wanted, samples.size());
    std::vector<std::jthread> workers;
    workers.reserve(threads);
    try {
      for (std::uint64_t t = 1; t < threads; ++t)
        workers.emplace_back(work);
    } catch (const std::system_error&) {
      // The system has no more threads; fewer are enough.
    }
    work();
  }
  if (error) std::rethrow_exception(error);
  if (done < samples.size()) {  // a stop was requested
    throw Error(ErrorCode::kState, arguments.folder,
                "has only " + std::to_string(totals.samples) + " of the samples");
  }
  table.Close();
  out.Close();
  return totals;
}

int RunExport(ExportArguments& arguments) {
  RequireEmpty(arguments.folder);
  std::optional<Dataset> dataset;
  std::optional<ReadableSamples> readable;
  ExportTotals totals;
  const bool done = RunEdit(
      arguments.output, "exporting", "exporting " + cli::Printable(ShownPath(arguments.dataset)),
      [&](const EditHooks& hooks) {
        dataset = Dataset::Open(arguments.dataset, arguments.limits, hooks.stop);
        readable.emplace(*dataset, hooks.stop);
        // An export that was stopped may have left the folder. Its files have the names that it
        // recorded, and any others belong to the user.
        WorkFolder folder(arguments.folder, [](const std::string&) { return false; });
        folder.Empty();
        Export out(*dataset, *readable, arguments, folder, hooks.stop);
        folder.Keep();
        folder.Record("labels.csv");
        totals = ExportAll(*readable, out, arguments, hooks);
        folder.Finish();
      });
  if (!done) return cli::kInterrupted;
  if (arguments.output.json) {
    cli::PrintJson({{"folder", ShownPath(arguments.folder)},
                    {"samples", totals.samples},
                    {"bytes", totals.bytes},
                    {"left_out", readable->left_out()},
                    {"damaged", readable->reasons()}});
  } else {
    std::string text = readable->Text("left out");
    if (!arguments.output.quiet) {
      text += cli::Printable(arguments.folder) + ": " +
              cli::CountText(totals.samples, "sample", "samples") + ", " +
              cli::BytesText(totals.bytes) +
              (readable->left_out() == 0
                   ? "\n"
                   : "; " + cli::CountText(readable->left_out(), "is", "are") + " left out\n");
    }
    cli::PrintOut(text);
  }
  return readable->left_out() == 0 ? cli::kDone : cli::kSomeLeftOut;
}

}  // namespace

cli::Command AddExportCommand(CLI::App& program) {
  CLI::App* const app = program.add_subcommand("export", kExportDescription);
  const auto arguments = std::make_shared<ExportArguments>();
  cli::AddArgument(*app, "DATASET", arguments->dataset, "folder of the dataset");
  cli::AddArgument(*app, "FOLDER", arguments->folder, "folder to create");
  app->add_flag("--no-formulas", arguments->no_formulas,
                "put a ' before each cell of labels.csv that a spreadsheet would run as a formula: "
                "one that is not a number and begins with = + - @, a tab or a line break. `sluice "
                "convert` then reads the ' as a part of the cell");
  app->add_flag(
      "--coco", arguments->coco,
      "also write instances.json: boxes, classes, crowd flags, key points and, from a field "
      "instances, outlines and runs in COCO's form, in pixels of the exported images");
  cli::AddChoice(*app, "--wide", "HOW",
                 "the files of images that are not of 8 bits, or have more than four channels: npy "
                 "(default; those that a PNG holds are PNGs), or tiff, with the number for no data "
                 "and the tags of a field geo",
                 arguments->wide,
                 cli::ChoiceList<WideFiles>{{"npy", WideFiles::kNpy}, {"tiff", WideFiles::kTiff}});
  cli::AddThreads(*app, arguments->threads);
  cli::AddDeclared(*app, arguments->limits);
  AddOutputOptions(*app, arguments->output);
  app->footer(std::string(kExportExamples) + cli::kExitCodeHelp);
  return {app, [arguments] { return RunExport(*arguments); }};
}

}  // namespace sluice
