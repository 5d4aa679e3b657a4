// `sluice convert` and `sluice plan`: from the command line to datasets.
//
// Both commands take the same options; `plan` stops once the plan is written. One command line may
// make several datasets (parts, see convert_parts.cpp), which are converted one after another.
// `--part` takes its options from a plan instead, so RunPartOf() runs it.
#include "tools/convert.h"

#include <cstdio>
#include <memory>
#include <optional>
#include <set>

#include <nlohmann/json.hpp>

#include <sluice/convert_option_list.h>
#include <sluice/error.h>
#include <sluice/schema.h>

#include "tools/cli/declared.h"
#include "tools/cli/option.h"
#include "tools/cli/output.h"
#include "tools/cli/program.h"
#include "tools/cli/terminal.h"
#include "tools/commands.h"
#include "tools/convert_source.h"
#include "tools/edit_command.h"

namespace sluice {
namespace {

using cli::AddOption;
using cli::UsageError;

constexpr const char* kConvertDescription =
    "Compiles images into a dataset.\n\n"
    "SOURCE is a folder with one folder per class, or a folder of images without labels.\n"
    "Classes are numbered in the order of their names. Images in nested folders belong to the\n"
    "top folder's class; a folder around all others is not a class. If SOURCE holds train/,\n"
    "val/ and the like, the command asks at a terminal whether to make a dataset of each, and\n"
    "elsewhere refuses; --split-folders or --labels answer beforehand.\n\n"
    "SOURCE may also be one or more tar files with WebDataset's names: KEY.jpg with KEY.cls,\n"
    "KEY.txt, KEY.json and KEY.mask.png or KEY.seg.png. If SOURCE is -, the tar file comes\n"
    "from a pipe, and is stored next to DATASET during the conversion. Or SOURCE is one or\n"
    "more Parquet (as Hugging Face's), TFRecord, RecordIO or .beton (FFCV's) files. Or --table\n"
    "or --paths lists the images, or --coco, --voc, --yolo or --dota describes them.\n\n"
    "JPEG, PNG, BMP, PPM and TGA are recognised by content, and so are WebP, GIF, TIFF, AVIF,\n"
    "HEIF, JPEG XL and JPEG 2000 if the build found their libraries. --pixels keep takes PNG, "
    "PPM,\n"
    "PFM, NPY and TIFF with the values that they hold, of any type. Of several frames or\n"
    "pages, the first is taken. Hidden files, and files that are not images, are skipped and\n"
    "counted. Broken images, and files with an image's ending that hold no image, are left out\n"
    "and listed in DATASET/skipped.tsv.\n\n"
    "DATASET is created. To resume after an interruption, run the same command again. The\n"
    "result depends only on the sources and the options, never on --threads.\n";

constexpr const char* kConvertExamples =
    "\n"
    "Examples:\n"
    "  sluice convert photos/ data/photos\n"
    "  sluice convert photos/ data/photos --short-side 256 --quality 95\n"
    "  sluice convert cifar/train data/train --no-resize --quality keep\n"
    "  sluice convert photos/ data/fast --image packed\n"
    "  sluice convert photos/ data/raw64 --size 64x64 --image raw\n"
    "  sluice convert --table labels.csv data/x --field bbox=boxes:xywh --field caption=text\n"
    "  sluice convert images/ data/seg --mask-folder annotations/\n"
    "  sluice convert train-*.tar data/train\n"
    "  sluice convert train-*.parquet data/train\n"
    "  sluice convert --coco instances_val2017.json val2017/ data/coco\n"
    "  zstd -dc train.tar.zst | sluice convert - data/train\n"
    "  sluice convert photos/ data/photos --split train=0.9,val=0.1\n"
    "  sluice convert imagenet/ data/imagenet --split-folders\n"
    "  sluice convert --table val.csv data/val --classes-of data/train\n"
    "  sluice convert patches/ data/patches --pixels keep --stack B02,B03,B04,B08\n"
    "  find . -name '*.jpg' | sluice convert --paths - data/found\n\n";

constexpr const char* kPlanDescription =
    "Plans a conversion that several processes or machines then make in parts.\n\n"
    "Takes what `sluice convert` takes, looks for the sources, decides which of them go to\n"
    "which shard, and writes this plan into DATASET. Then run `sluice convert --part I/N\n"
    "DATASET` for each I from 0 to N - 1, on any machines that have the sources and DATASET at\n"
    "the same paths, and at last `sluice finish DATASET`. For every N, the dataset has the same\n"
    "bytes as one that `sluice convert` makes alone. `sluice status DATASET` shows how far the\n"
    "conversion is.\n";

constexpr const char* kPlanExamples =
    "\n"
    "Examples:\n"
    "  sluice plan photos/ data/photos\n"
    "  for i in 0 1 2 3; do sluice convert --part $i/4 data/photos & done; wait\n"
    "  sluice finish data/photos\n\n";

struct ConvertArguments {
  SourceArguments source;
  std::string name;  // of the source, for messages
  ConvertOptions options;
  std::string split;
  std::uint64_t split_seed = 0;
  bool no_resize = false;
  bool plan_only = false;  // `sluice plan`
  std::optional<PlanPart> part;
  bool json = false;
  bool quiet = false;
};

// "90", "keep" or "keep:90"
void ParseQuality(const std::string& text, FormOptions& form) {
  std::string number = text;
  form.keep = text.starts_with("keep");
  if (form.keep) {
    if (text == "keep") return;
    number = text.starts_with("keep:") ? text.substr(5) : "";
  }
  try {
    form.quality = static_cast<int>(cli::ParseInteger(number, 1, 100));
  } catch (const UsageError&) {
    throw UsageError("\"" + text + "\" is not 1 to 100, keep, or keep:Q with Q from 1 to 100");
  }
}

void AddSizeOptions(CLI::App& app, ConvertArguments& arguments) {
  cli::AddDeclared(app, arguments.options.geometry);
  CLI::Option* const no_resize =
      app.add_flag("--no-resize", arguments.no_resize, "keep every image's size");
  // Each of these decides the size alone, so any two contradict each other.
  CLI::Option* const ways[] = {app.get_option("--max-side"), app.get_option("--short-side"),
                               app.get_option("--size"), no_resize};
  for (CLI::Option* one : ways) {
    for (CLI::Option* other : ways) {
      if (one != other) one->excludes(other);
    }
  }
  no_resize->group(option_list::OptionsOf<GeometryOptions>.help);
  app.get_option("--fit")->needs("--size");
}

void AddImageOptions(CLI::App& app, ConvertArguments& arguments) {
  FormOptions& form = arguments.options.form;
  const auto add_quality = [&] {
    return AddOption(
        app, "--quality", "Q",
        "JPEG quality, 1 to 100 (default 90). With keep, a JPEG keeps its coefficients, and is "
        "encoded only if it is resized, its colours change (CMYK, RGB-coded, grey without "
        "--channels 1, --icc convert), Exif turns it at an incomplete block, or its sampling or "
        "steps are unusual; keep:Q encodes these JPEGs at quality Q",
        [&form](const std::string& text) { ParseQuality(text, form); });
  };
  const auto add_restart_markers = [&] {
    return app.add_flag_callback(
        "--no-restart-markers", [&form] { form.restart_markers = false; },
        "write JPEGs without restart markers, with which a reader skips what lies outside of a "
        "crop");
  };
  cli::AddDeclared(
      app, form,
      {{"keep", nullptr}, {"quality", add_quality}, {"restart_markers", add_restart_markers}});
  app.get_option("--channels")->check(cli::Choices("1 3"));
  CLI::Option* const stack = AddOption(
      app, "--stack", "B02,B03,...",
      "with --pixels keep: the names of channels that lie in a file each, in their order: "
      "NAME_B02.tif and NAME_B03.tif become the sample NAME, and the names the field's "
      "attribute channels. A sample without one of the files is left out",
      [&form](const std::string& text) { form.stack = cli::Split(text); });
  stack->group(option_list::OptionsOf<FormOptions>.help);
  app.get_option("--stack-resize")->needs(stack);
}

void AddDatasetOptions(CLI::App& app, ConvertArguments& arguments) {
  const std::string group = option_list::OptionsOf<ShardOptions>.help;
  AddOption(app, "--split", "PARTS",
            "make a dataset of each part of the source, such as train=0.9,val=0.1, in "
            "DATASET/train and DATASET/val; each gets its share of every class, at random",
            [&arguments](const std::string& text) {
              ParseSplit(text);  // throws now if it is wrong
              arguments.split = text;
            })
      ->group(group);
  app.add_flag(
         "--split-folders", arguments.source.split_folders,
         "make a dataset of each split, with the same classes, in DATASET/train, DATASET/val "
         "and so on. If SOURCE is a folder, each folder in it is a split (with --yolo, --dota "
         "or --voc: images/train and labels/train). If SOURCE is several files, a split is all "
         "files whose names (train-*.parquet) or folders contain its name")
      ->excludes("--split")
      ->group(group);
  cli::AddDeclared(
      app, arguments,
      option_list::Option("split_seed", &ConvertArguments::split_seed, "seed of the split"))
      ->needs("--split")
      ->group(group);
  cli::AddDeclared(app, arguments.source.given.split, &SplitPart::by)
      ->needs("--split")
      ->group(group);
  cli::AddDeclared(app, arguments.options.shards);
  AddMetaOption(app, arguments.options.shards.meta,
                "store a fact about the dataset, such as license=CC-BY-4.0; may be given several "
                "times. `sluice inspect` shows it, and edits of the dataset keep it");
  app.get_option("--meta")->group(group);
  app.get_option("--keep-order")->excludes("--seed");
}

void AddRunningOptions(CLI::App& app, ConvertArguments& arguments) {
  RunOptions& run = arguments.options.run;
  // A plan does not say how shards are written: each part may be made in its own way.
  const auto unless_planning = [&](auto member) {
    return [&app, &run, &arguments, member] {
      return arguments.plan_only ? nullptr : cli::AddDeclared(app, run, member);
    };
  };
  cli::AddDeclared(app, run,
                   {{"direct", unless_planning(&RunOptions::direct)},
                    {"check", unless_planning(&RunOptions::check)}});
  if (!arguments.plan_only) {
    AddOption(
        app, "--part", "I/N",
        "make part I (0 to N - 1) of a conversion that `sluice plan` has begun; name only "
        "DATASET with it. Parts may run on any machine, at any time, and more than once. When "
        "all are made, `sluice finish` makes the dataset. Only `finish`, never a part, exits "
        "with 3 if sources were left out",
        [&arguments](const std::string& text) { arguments.part = ParsePart(text); });
  }
  app.add_flag("--json", arguments.json,
               "print one JSON object to standard output, and no progress");
  app.add_flag("--quiet", arguments.quiet, "print errors only");
}

// Applies rules about several options, which cannot be checked while they are parsed one by one.
void Complete(const CLI::App& app, ConvertArguments& arguments) {
  ConvertOptions& options = arguments.options;
  if (options.geometry.short_side || options.geometry.size || arguments.no_resize)
    options.geometry.max_side.reset();
  if (options.form.image == ImageCodec::kRaw) {
    for (const char* name : {"--quality", "--no-restart-markers", "--subsampling"}) {
      if (app.count(name) > 0) {
        throw UsageError(std::string(name) + " applies to JPEGs only, and --image raw stores none");
      }
    }
  }
  if (options.form.pixels == PixelValues::kKeep) {
    for (const char* name :
         {"--max-side", "--short-side", "--size", "--image", "--quality", "--no-restart-markers",
          "--subsampling", "--channels", "--background", "--icc", "--truncated"}) {
      if (app.count(name) > 0) {
        throw UsageError(std::string(name) +
                         " is for 8-bit pictures, and --pixels keep stores images as they are, in "
                         "their own sizes");
      }
    }
  } else if (!options.form.stack.empty()) {
    throw UsageError("--stack needs --pixels keep");
  }
  arguments.source.form = options.form;
  if (options.form.channels == 2) throw UsageError("--channels: 3 (RGB) or 1 (grey)");
}

// Converts one part, or with `sluice plan` plans it. Returns nullopt after an interruption, which a
// message has reported.
std::optional<ConvertAccount> ConvertOne(const ConvertArguments& arguments, const ConvertPart& part,
                                         const cli::Interrupt& interrupt) {
  std::string dataset = arguments.source.places.back();
  if (!part.name.empty()) dataset = (std::filesystem::path(dataset) / part.name).string();
  const bool planned = arguments.plan_only && !arguments.options.run.dry_run;
  const char* const doing = planned ? "planning" : "converting";
  ConvertAccount account{dataset, arguments.options, {}, planned, 0};
  bool begun = false;
  const bool done = RunConversion(
      interrupt, dataset, arguments.json || arguments.quiet, doing,
      doing + (" " + cli::Printable(arguments.name)) + " into " + cli::Printable(dataset),
      [&](ConvertHooks hooks) {
        hooks.on_progress = [&, show = hooks.on_progress](const ConvertProgress& now) {
          if (!begun) account.found_done = now.samples_done;  // reported before the first sample
          begun = true;
          show(now);
        };
        account.summary = arguments.plan_only
                              ? PlanConversion(part.source, dataset, arguments.options, hooks)
                              : Convert(part.source, dataset, arguments.options, hooks);
      });
  if (!done) return std::nullopt;
  if (!arguments.json && !arguments.quiet) PrintConvertText(account);
  return account;
}

// Reports the pictures that several parts share. Returns false after an interruption, which a
// message has reported.
bool LookForShared(const ConvertArguments& arguments, const std::vector<ConvertPart>& parts,
                   const cli::Interrupt& interrupt, nlohmann::ordered_json& json) {
  const std::string& folder = arguments.source.places.back();
  SharedImages shared;
  try {
    shared = LookForSharedImages(parts, folder, arguments.options, interrupt.token());
  } catch (const Error& error) {
    if (!interrupt.requested() || error.code() != ErrorCode::kState) throw;
    std::fprintf(
        stderr,
        "sluice: interrupted while looking for duplicates among the parts; the parts are done\n");
    return false;
  }
  json["shared"] = SharedJson(shared);
  if (!json.contains("warnings")) json["warnings"] = nlohmann::ordered_json::array();
  if (!shared.empty()) json["warnings"].push_back(SharedWarning(shared));
  if (!arguments.json && !arguments.quiet)
    PrintShared(shared, folder, arguments.options.run.dry_run);
  return true;
}

// Asks a person at a terminal whether folders like train/ and val/ are splits. Without a terminal,
// the writer refuses such a source, and its message names the options.
void AskForSplitFolders(ConvertArguments& arguments, const std::stop_token& stop) {
  if (arguments.json || arguments.quiet || !arguments.split.empty() || !cli::CanAsk()) return;
  const std::vector<std::string> folders = UnclearSplitFolders(arguments.source, stop);
  if (folders.empty()) return;
  std::string names;
  for (const std::string& name : folders)
    names += (names.empty() ? "" : ", ") + cli::Printable(name) + "/";
  arguments.source.split_folders =
      cli::Ask("sluice: " + cli::Printable(arguments.name) + " holds " + names +
                   ": make a dataset of each (as --split-folders does)?",
               stop);
}

int ConvertParts(ConvertArguments& arguments, const cli::Interrupt& interrupt) {
  AskForSplitFolders(arguments, interrupt.token());
  if (!arguments.split.empty() && !arguments.quiet) {
    double sum = 0;
    for (const auto& [name, fraction] : ParseSplit(arguments.split))
      sum += fraction;
    if (sum < 1 - 1e-9) {
      std::fprintf(stderr,
                   "sluice: warning: the parts of --split add up to %g; the other %g of the images "
                   "go into no part\n",
                   sum, 1 - sum);
    }
  }
  const auto [parts, warnings] = MakeParts(arguments.source, arguments.split, arguments.split_seed,
                                           arguments.options.run.threads, interrupt.token());
  nlohmann::ordered_json json = nlohmann::ordered_json::object();
  for (const std::string& warning : warnings) {
    json["warnings"].push_back(warning);
    if (arguments.json || arguments.quiet) continue;
    std::fprintf(stderr, "sluice: warning: %s\n", cli::Printable(warning).c_str());
  }
  const bool several = !parts[0].name.empty();
  if (several && !arguments.options.run.dry_run) CreatePartsFolder(arguments.source.places.back());
  int exit_code = cli::kDone;
  for (const ConvertPart& part : parts) {
    const std::optional<ConvertAccount> account = ConvertOne(arguments, part, interrupt);
    if (!account) return cli::kInterrupted;
    // A plan leaves nothing out yet.
    if (!account->planned && !account->summary.skipped.empty()) exit_code = cli::kSomeLeftOut;
    if (account->summary.direct_refused) arguments.options.run.direct = false;  // reported once
    if (several) {
      json["parts"][part.name] = ConvertJson(*account);
    } else {
      json = ConvertJson(*account);
    }
  }
  if (several && arguments.options.run.find_duplicates &&
      !LookForShared(arguments, parts, interrupt, json)) {
    return cli::kInterrupted;
  }
  if (arguments.json) cli::PrintJson(json);
  return exit_code;
}

// Runs --part, which accepts few options: the plan has the others.
int RunPartOf(const CLI::App& app, const ConvertArguments& arguments) {
  const std::set<std::string> taken = {"--part", "--threads", "--direct", "--json", "--quiet"};
  for (const CLI::Option* const option : app.get_options()) {
    if (option->count() == 0 || option->get_positional()) continue;
    if (!taken.contains(option->get_name())) {
      throw UsageError(option->get_name() + " is not for --part: it was chosen by `sluice plan`");
    }
  }
  if (arguments.source.places.size() != 1) {
    throw UsageError("--part takes DATASET alone, a folder that `sluice plan` has begun");
  }
  return RunPart({arguments.source.places[0],
                  *arguments.part,
                  {arguments.options.run.threads, arguments.options.run.direct},
                  arguments.json,
                  arguments.quiet});
}

int RunConvert(const CLI::App& app, ConvertArguments& arguments) {
  if (arguments.part) return RunPartOf(app, arguments);
  Complete(app, arguments);
  if (arguments.plan_only && !arguments.source.places.empty() &&
      arguments.source.places[0] == "-") {
    throw UsageError("a pipe can be read once only; plan a file");
  }
  const cli::Interrupt interrupt;
  arguments.name = NameOf(arguments.source);
  // Lives until the conversion is over, which reads the stored archive.
  std::optional<PipedArchive> piped;
  if (!StorePipedInput(arguments.source, interrupt, piped, RequirePlace)) return cli::kInterrupted;
  try {
    return ConvertParts(arguments, interrupt);
  } catch (const Error& error) {
    // Before the conversion begins, an interruption arrives as an Error of the part that was
    // reading.
    if (!interrupt.requested() || error.code() != ErrorCode::kState) {
      throw NamedAsInput(error, piped);
    }
    std::fputs("sluice: interrupted while looking at the sources; nothing was done\n", stderr);
    return cli::kInterrupted;
  }
}

}  // namespace

namespace {

cli::Command AddConversion(CLI::App& program, const char* name, const char* description,
                           const char* examples, bool plan_only) {
  CLI::App* const app = program.add_subcommand(name, description);
  const auto arguments = std::make_shared<ConvertArguments>();
  arguments->plan_only = plan_only;
  AddSourceOptions(*app, arguments->source);
  AddSizeOptions(*app, *arguments);
  AddImageOptions(*app, *arguments);
  AddDatasetOptions(*app, *arguments);
  AddRunningOptions(*app, *arguments);
  app->footer(std::string(examples) + cli::kExitCodeHelp);
  return {app, [app, arguments] { return RunConvert(*app, *arguments); }};
}

}  // namespace

cli::Command AddConvertCommand(CLI::App& program) {
  return AddConversion(program, "convert", kConvertDescription, kConvertExamples, false);
}

cli::Command AddPlanCommand(CLI::App& program) {
  return AddConversion(program, "plan", kPlanDescription, kPlanExamples, true);
}

}  // namespace sluice
