// convert(): what `sluice convert` does. Its keywords are the options of all groups of
// ConvertOptions, as convert_option_list.h declares them.
//
// convert() blocks for a long time, so the call must be able to end before the conversion does:
// Ctrl-C while a store does not answer leaves the conversion to a thread of its own (Run()). All
// that this thread may still touch is therefore in a shared object, whose Python parts are taken
// away under its lock when the call ends.
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <sluice/convert_option_list.h>
#include <sluice/play_source.h>

#include "reader/python/binding/gil.h"
#include "reader/python/binding/keywords.h"

namespace sluice::python {

namespace {

// sluice.ConvertWarning; lives as long as the process.
nb::object& WarningType() {
  static auto* const type = new nb::object();
  return *type;
}

}  // namespace

void IssueWarning(const std::string& text, int stack_level) {
  const nb::object warn = nb::module_::import_("warnings").attr("warn");
  warn(TextOf(InPythonsWords(text)), WarningType(), stack_level);
}

namespace {

using SizePair = std::pair<std::uint32_t, std::uint32_t>;

using Progress = Stated<"bool | collections.abc.Callable[[int, int], object]">;

// An option of a group of ConvertOptions as a keyword of convert(), which has no groups.
template <class G, class V>
auto FlatKeyword(G ConvertOptions::*group, const option_list::Option<G, V>& option) {
  using T = ConvertOptions;
  V G::*const member = option.member;
  if constexpr (std::is_same_v<V, std::optional<Size>>) {
    return Keyword{option.name, [](const T&) { return std::optional<SizePair>(); },
                   [=](T& options, const std::optional<SizePair>& size) {
                     if (size) options.*group.*member = Size{size->first, size->second};
                   },
                   option.help};
  } else {
    return Keyword{option.name, [=](const T& options) -> V { return options.*group.*member; },
                   [=](T& options, V value) { options.*group.*member = std::move(value); },
                   option.help};
  }
}

template <class G>
auto FlatKeywords(const option_list::Option<ConvertOptions, G>& group) {
  return std::apply(
      [&](const auto&... options) { return std::tuple(FlatKeyword(group.member, options)...); },
      option_list::OptionsOf<G>.options);
}

// Issues a conversion's warnings as Python's, at the line that called sluice.convert (through
// _arguments.py). Throws if the user has turned such warnings into errors.
void Warn(const ConvertSummary& summary) {
  for (const std::string& warning : summary.warnings)
    IssueWarning(warning, 2);
}

std::string ReprOf(const ConvertSummary& summary) {
  constexpr std::size_t kMaxShown = 10;  // classes
  std::string text = "ConvertSummary(" + std::to_string(summary.samples) + " samples in " +
                     std::to_string(summary.shards) + " shards, " +
                     std::to_string(summary.skipped.size()) + " left out";
  if (summary.shrunk > 0) text += ", " + std::to_string(summary.shrunk) + " shrunk";
  if (summary.reencoded > 0)
    text += ", " + std::to_string(summary.reencoded) + " JPEGs encoded anew";
  const std::size_t shown = std::min(kMaxShown, summary.classes.size());
  for (std::size_t c = 0; c < shown; ++c)
    text += (c == 0 ? ", classes " : ", ") + std::to_string(c) + " " + summary.classes[c];
  if (shown < summary.classes.size())
    text += " and " + std::to_string(summary.classes.size() - shown) + " more";
  for (const std::string& warning : summary.warnings)
    text += "; warning: " + InPythonsWords(warning);
  return text + ")";
}

void BindSummary(nb::module_& module) {
  nb::class_<LeftOut>(module, "LeftOut", "A source that did not become a sample, and why")
      .def_prop_ro("path", [](const LeftOut& one) { return TextOf(one.path); })
      .def_prop_ro("reason", [](const LeftOut& one) { return InPythonsWords(one.reason); })
      .def("__repr__",
           [](const LeftOut& one) { return one.path + ": " + InPythonsWords(one.reason); });
  nb::class_<Duplicate>(module, "Duplicate", "A source with the same bytes as another")
      .def_prop_ro("path", [](const Duplicate& one) { return TextOf(one.path); })
      .def_ro("class_name", &Duplicate::class_name);
  nb::class_<SomeImages>(module, "SomeImages",
                         "Some images: how many there are, and the paths of the first ones")
      .def_ro("count", &SomeImages::count)
      .def_prop_ro("examples",
                   [](const SomeImages& images) {
                     nb::list paths;
                     for (const std::string& path : images.examples)
                       paths.append(TextOf(path));
                     return nb::typed<nb::list, nb::str>(paths);
                   })
      .def("__repr__", [](const SomeImages& images) {
        return "SomeImages(count=" + std::to_string(images.count) + ")";
      });
  nb::class_<ConvertSummary>(module, "ConvertSummary", "What a conversion did")
      .def_ro("samples", &ConvertSummary::samples)
      .def_ro("fields", &ConvertSummary::fields, "names of the dataset's fields")
      .def_ro("classes", &ConvertSummary::classes)
      .def_ro("class_counts", &ConvertSummary::class_counts)
      .def_ro("shards", &ConvertSummary::shards)
      .def_ro("bytes_in", &ConvertSummary::bytes_in)
      .def_ro("bytes_out", &ConvertSummary::bytes_out)
      .def_ro("seconds", &ConvertSummary::seconds)
      .def_ro("skipped", &ConvertSummary::skipped, "broken or unsupported images")
      .def_ro("passed_over", &ConvertSummary::passed_over, "files that are not images")
      .def_ro("truncated", &ConvertSummary::truncated,
              "images that were taken although they end early")
      .def_ro("kept", &ConvertSummary::kept)
      .def_ro("shrunk", &ConvertSummary::shrunk,
              "images that this call stored with fewer pixels than they had")
      .def_ro("reencoded", &ConvertSummary::reencoded,
              "JPEGs that this call stored with other coefficients")
      .def_ro("rounded", &ConvertSummary::rounded,
              "images of more than 8 bits a value that this call stored with 8")
      .def_ro("pixels", &ConvertSummary::pixels,
              "with pixels=\"keep\": the channels and the type, as \"13 x uint16\"")
      .def_ro("boxes_dropped", &ConvertSummary::boxes_dropped)
      .def_ro("profiles_dropped", &ConvertSummary::profiles_dropped)
      .def_ro("profiles_converted", &ConvertSummary::profiles_converted)
      .def_ro("channels_dropped", &ConvertSummary::channels_dropped,
              "JPEG 2000 images with channels that are neither colours nor opacity")
      .def_ro("smaller", &ConvertSummary::smaller)
      .def_ro("turned", &ConvertSummary::turned,
              "turned by their orientation (Exif), with boxes, masks or key points")
      .def_ro("dim", &ConvertSummary::dim,
              "of more than 8 bits a value, with a greatest value below a quarter of the range")
      .def_ro("duplicates", &ConvertSummary::duplicates)
      .def_ro("direct_refused", &ConvertSummary::direct_refused)
      .def_prop_ro("warnings",
                   [](const ConvertSummary& one) { return InPythonsWords(one.warnings); })
      .def_ro("block_samples", &ConvertSummary::block_samples)
      .def_ro("shard_samples", &ConvertSummary::shard_samples)
      .def("__repr__", [](const ConvertSummary& summary) { return TextOf(ReprOf(summary)); });
}

// Runs a conversion, reports its progress, and stops at Ctrl-C. If a server is involved, this
// function does not wait for the conversion to stop: the conversion continues on a thread of its
// own until it notices the request to stop, and does not call Python any more.
ConvertSummary Run(const ConvertSource& source, const std::filesystem::path& dataset,
                   const ConvertOptions& options, const nb::object& on_progress) {
  struct Shared {
    std::stop_source stop;
    nb::ft_mutex mutex;      // guards the next members if there is no GIL
    nb::object on_progress;  // null once End() was called; then `raised` does not change any more
    std::optional<nb::python_error> raised;

    // Called before Run() ends, because a thread without the GIL may drop this object last.
    void End() {
      nb::object dropped;
      const nb::ft_lock_guard lock(mutex);
      dropped = std::move(on_progress);
    }
  };
  LeaveIfEnded();
  const auto shared = std::make_shared<Shared>();
  shared->on_progress = on_progress;
  ConvertHooks hooks;
  hooks.stop = shared->stop.get_token();
  hooks.on_progress = [shared, at_end = HasEnded()](const ConvertProgress& progress) {
    if (HasEnded() && !at_end) {  // a daemon thread converts: it has no interpreter to report to
      shared->stop.request_stop();
      return;
    }
    const Acquired acquired;
    nb::object called;
    {
      const nb::ft_lock_guard lock(shared->mutex);
      // A reference of its own: the function is called without the lock, and End() may drop the
      // other one meanwhile.
      if (!shared->raised) called = shared->on_progress;
    }
    if (!called.is_valid()) return;
    try {
      RunPython([&] {
        called(progress.samples_done, progress.samples_total);
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
      });
    } catch (nb::python_error& error) {
      {
        const nb::ft_lock_guard lock(shared->mutex);
        if (shared->on_progress.is_valid()) shared->raised.emplace(std::move(error));
      }
      shared->stop.request_stop();
    }
  };
  try {
    ConvertSummary summary = Interruptibly(
        IsRemote(source) || IsRemote(dataset),
        [source, dataset, options, hooks] { return Convert(source, dataset, options, hooks); });
    shared->End();
    if (!shared->raised) return summary;
  } catch (const Error&) {
    shared->End();
    LeaveIfEnded();
    if (!shared->raised) throw;
  } catch (...) {
    shared->End();
    // Another exception is already on its way, such as that of a signal. The function's own is
    // dropped here, while this thread holds the GIL.
    shared->raised.reset();
    shared->stop.request_stop();
    throw;
  }
  throw nb::python_error(*std::exchange(shared->raised, std::nullopt));
}

// Refuses a file as a folder of images, with the functions that take it.
void RequireFolder(const ConvertSource& source) {
  std::error_code ignored;
  if (source.kind != ConvertSource::Kind::kFolder ||
      !std::filesystem::is_regular_file(source.root, ignored))
    return;
  throw Error(ErrorCode::kInvalidArgument, source.root.string(),
              "is not a folder of images; a table is sluice.ConvertSource.table(file), an archive "
              "(tar, Parquet, FFCV's and others) sluice.ConvertSource.archives([file]), and a "
              "list of pictures sluice.ConvertSource.paths(paths, root)");
}

ConvertSummary ConvertHere(const SourceOrFolder& given, const std::filesystem::path& dataset,
                           const std::optional<Progress>& progress, ConvertOptions options) {
  const ConvertSource source = SourceOf(given);
  RequireFolder(source);
  // If `size` or `short_side` is given, it replaces the default of `max_side`, as on the command
  // line.
  GeometryOptions& geometry = options.geometry;
  if ((geometry.size || geometry.short_side) && geometry.max_side == GeometryOptions().max_side)
    geometry.max_side.reset();
  const nb::object bar = nb::module_::import_("sluice._progress").attr("Progress")(progress);
  try {
    ConvertSummary summary = Run(source, dataset, options, bar);
    bar.attr("close")();
    Warn(summary);
    return summary;
  } catch (...) {
    bar.attr("close")();
    throw;
  }
}

template <class... K>
void BindFunction(nb::module_& module, const K&... keywords) {
  const std::string doc =
      "Converts images into a dataset: what `sluice convert` does.\n\n"
      "source: a folder, or a ConvertSource. dataset: the folder to make. progress: None for a bar "
      "in terminals and notebooks (where tqdm is installed), True or False, or a function of "
      "(samples done, samples in all).\n\n"
      "Returns a ConvertSummary, whose warnings are issued as ConvertWarning too. Ctrl-C stops the "
      "conversion; the same call resumes it. Raises sluice.Error.\n\n"
      "The other options are those of ConvertOptions; size is (width, height), and short_side or "
      "size replaces the default max_side.\n" +
      KeywordLines(keywords...);
  module.def(
      "convert",
      [keywords...](const SourceOrFolder& source, const std::filesystem::path& dataset,
                    const std::optional<Progress>& progress, ValueOf<ConvertOptions, K>... values) {
        ConvertOptions options;
        (keywords.set(options, std::move(values)), ...);
        return ConvertHere(source, dataset, progress, options);
      },
      "source"_a, "dataset"_a, nb::kw_only(), "progress"_a = nb::none(),
      ArgumentOf(keywords, ConvertOptions())..., doc.c_str());
}

// A source that is played, as a kind of Dataset.
struct PySource : Dataset {
  explicit PySource(Dataset dataset) : Dataset(std::move(dataset)) {}
};

// Issues the warnings of a source that is played. Warnings that come before the source is made are
// issued once it is made. Later ones come from the thread that compiles the source: it leaves each
// to Python's main thread, which issues it soon after. The compiling thread must not wait for the
// GIL itself, because a thread that has the GIL may be waiting for the compiling thread's end.
class PlayedWarnings {
 public:
  void Add(const std::string& text) {
    const std::lock_guard lock(mutex_);
    if (!issued_) return texts_.push_back(text);
    if (!Py_IsInitialized()) return;
    auto later = std::make_unique<std::string>(text);
    if (Py_AddPendingCall(&IssueLater, later.get()) == 0) later.release();
  }

  // Issues the warnings so far, at the line that made the source.
  void Issue() {
    std::unique_lock lock(mutex_);
    issued_ = true;
    const std::vector<std::string> texts = std::move(texts_);
    lock.unlock();
    for (const std::string& text : texts)
      IssueWarning(text, 2);
  }

 private:
  // Called by Python's main thread.
  static int IssueLater(void* text) {
    const std::unique_ptr<std::string> own(static_cast<std::string*>(text));
    try {
      IssueWarning(*own, 1);
      return 0;
    } catch (nb::python_error& error) {
      error.restore();  // the user has turned such warnings into errors
      return -1;
    }
  }

  std::mutex mutex_;
  bool issued_ = false;             // guarded by mutex_
  std::vector<std::string> texts_;  // guarded by mutex_
};

Dataset PlayHere(const SourceOrFolder& given, const ConvertOptions& convert, PlayOptions play,
                 const ReadLimits& limits) {
  const auto* const place = std::get_if<std::filesystem::path>(&given);
  const ConvertSource source = place != nullptr ? SourceAt(*place) : SourceOf(given);
  RequireFolder(source);
  play.geometry = convert.geometry;
  play.form = convert.form;
  play.shards = convert.shards;
  const auto warnings = std::make_shared<PlayedWarnings>();
  play.on_warning = [warnings](const std::string& text) { warnings->Add(text); };
  const std::stop_source stop;
  try {
    Dataset dataset = Interruptibly(
        true, [=] { return Dataset::Open(PlaySource(source, play, stop.get_token()), limits); });
    warnings->Issue();
    return dataset;
  } catch (const nb::python_error&) {
    stop.request_stop();
    throw;
  }
}

template <class... K>
void BindPlayed(nb::module_& module, const ConvertOptions& usual, const K&... keywords) {
  const std::string doc =
      "A folder of images, a table, archives or any other source, played without a conversion: "
      "sluice.Loader(sluice.Source('photos/')). It is a Dataset, whose samples are made when they "
      "are needed; a Loader takes it, and gives the batches of the dataset that convert() would "
      "make with the same options.\n\n"
      "source: a folder, a table, an archive, a URL, or a ConvertSource. index: a file that keeps "
      "the list of samples. If it does not exist, it is written; if it does, the source is not "
      "searched, and a file of the source that has changed since is an error when it is played. "
      "compile_to: a folder for the dataset of convert(), which a thread of low priority makes "
      "while the source is played. Each shard is played as soon as it is finished, and the batches "
      "stay the same; the next start with the same folder resumes. threads: how many threads list "
      "the source; 0 means one for each CPU. An image that cannot be read is a fault of its sample "
      "(IntegrityOptions.on_fault). Warnings are issued as ConvertWarning. Raises sluice.Error.\n\n"
      "The other options are those of convert(). By default images keep their sizes, and JPEGs "
      "their pixels; size is (width, height).\n" +
      KeywordLines(keywords...);
  nb::class_<PySource, Dataset> bound(module, "Source", doc.c_str());
  bound.def(
      "__init__",
      [usual, keywords...](PySource* self, const SourceOrFolder& source,
                           const std::optional<std::filesystem::path>& index,
                           const std::optional<std::filesystem::path>& compile_to, unsigned threads,
                           std::uint64_t max_pixels, ValueOf<ConvertOptions, K>... values) {
        ConvertOptions options = usual;
        (keywords.set(options, std::move(values)), ...);
        PlayOptions play;
        play.index = index.value_or(std::filesystem::path());
        play.compile_to = compile_to.value_or(std::filesystem::path());
        play.threads = threads;
        play.max_pixels = max_pixels;
        ReadLimits limits;
        limits.max_pixels = max_pixels;
        new (self) PySource(PlayHere(source, options, std::move(play), limits));
      },
      "source"_a, nb::kw_only(), "index"_a = nb::none(), "compile_to"_a = nb::none(),
      "threads"_a = 0, "max_pixels"_a = PlayOptions().max_pixels, ArgumentOf(keywords, usual)...);
  RefusePickling(
      bound,
      "a Source cannot be pickled; make it in each process that plays it, with an index, "
      "so that all processes have the same list");
}

}  // namespace

void BindConvert(nb::module_& module) {
  BindWords<ImageCodec>(module);
  BindWords<Fit>(module);
  BindWords<Subsampling>(module);
  BindWords<IccProfiles>(module);
  BindWords<OnError>(module);
  BindWords<Truncated>(module);
  BindWords<PixelValues>(module);
  BindWords<StackResize>(module);
  BindWords<SourceCheck>(module);
  BindSummary(module);
  WarningType() = nb::steal(PyErr_NewExceptionWithDoc(
      "sluice.ConvertWarning",
      "A doubt about a conversion, such as columns that were not used or a class without samples:\n"
      "each of ConvertSummary.warnings is also issued as a ConvertWarning, by Python's warnings.",
      PyExc_UserWarning, nullptr));
  module.attr("ConvertWarning") = WarningType();
  const auto keywords =
      std::apply([](const auto&... groups) { return std::tuple_cat(FlatKeywords(groups)...); },
                 option_list::OptionsOf<ConvertOptions>.options);
  std::apply([&](const auto&... each) { BindFunction(module, each...); }, keywords);
  // A Source takes the options of all groups but the last, `run`.
  ConvertOptions usual;
  usual.geometry = PlayOptions().geometry;
  usual.form = PlayOptions().form;
  const auto of_samples = std::apply(
      [](const auto& geometry, const auto& form, const auto& shards, const auto&) {
        return std::tuple_cat(FlatKeywords(geometry), FlatKeywords(form), FlatKeywords(shards));
      },
      option_list::OptionsOf<ConvertOptions>.options);
  std::apply([&](const auto&... each) { BindPlayed(module, usual, each...); }, of_samples);
}

}  // namespace sluice::python
