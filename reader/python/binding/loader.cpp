// The loader and its epochs. Waiting releases the GIL and looks at signals, so that Ctrl-C works. A
// thread that plays holds a shared pointer to the loader, so close() only takes the PyLoader's
// pointer away; the last owner ends the loader's threads. It does so without the GIL, which they
// may need to finish a user's function. A function may also never return: then End() gives up after
// a while and leaves a thread behind. All loaders are in one list, which `atexit` closes before the
// interpreter ends. A loader whose last reference is dropped inside one of its own functions cannot
// be waited for there; a later End() ends it.
#include <algorithm>
#include <mutex>
#include <set>

#include <sluice/loader_option_list.h>
#include <sluice/mixture.h>

#include "reader/python/binding/keywords.h"
#include "reader/python/binding/user_calls.h"

namespace sluice::python {

namespace {

using std::chrono_literals::operator""ms;

constexpr auto kLoaderSignalPoll = 100ms;
// How long the end of a loader waits for a function of the user that does not return.
constexpr auto kPatience = 2000ms;

// Rank and size of torch.distributed's process group, if it has been initialised. With launchers
// such as torch.multiprocessing, the rank is known nowhere else.
std::optional<Rank> GroupOfTorch() {
  const nb::object modules = nb::module_::import_("sys").attr("modules");
  const nb::object torch = modules.attr("get")("torch.distributed");
  if (torch.is_none() || !nb::hasattr(torch, "is_initialized")) return {};
  if (!nb::cast<bool>(torch.attr("is_initialized")())) return {};
  Rank rank;
  rank.rank = nb::cast<unsigned>(torch.attr("get_rank")());
  rank.world_size = nb::cast<unsigned>(torch.attr("get_world_size")());
  return rank;
}

struct PyLoader {
  nb::ft_mutex mutex;  // guards `loader` if there is no GIL; no Python code runs while it is locked
  // Null once the loader is closed. A thread that plays without the GIL holds a copy meanwhile.
  std::shared_ptr<Owned<Loader>> loader;
  const std::shared_ptr<UserCalls> calls;
  const std::shared_ptr<const FieldTypes> types;
  std::chrono::milliseconds timeout;      // 0: none
  std::chrono::milliseconds signal_poll;  // how often a wait checks for signals
  bool may_wait_long = false;             // for a server, or for the function that composes batches
  // Neither an option nor the environment said which rank this process is, so that
  // torch.distributed may say it later.
  bool may_be_a_rank = false;
  std::atomic<std::uint64_t> next_epoch{0};
  std::atomic<std::uint64_t> resumed_epoch{0};  // the epoch of resume_from, until one is played

  PyLoader(Loader made, std::shared_ptr<UserCalls> functions,
           std::shared_ptr<const FieldTypes> fields, std::chrono::milliseconds most)
      : loader(std::make_shared<Owned<Loader>>(std::move(made))),
        calls(std::move(functions)),
        types(std::move(fields)),
        timeout(most),
        signal_poll(most > 0ms ? std::min(most, kLoaderSignalPoll) : kLoaderSignalPoll) {
    next_epoch = (*loader)->State().epoch;
    resumed_epoch = next_epoch.load();
    const nb::ft_lock_guard lock(All().mutex);
    All().live.insert(this);
  }
  ~PyLoader() {
    {
      const nb::ft_lock_guard lock(All().mutex);
      All().live.erase(this);
    }
    if (calls->IsRunningHere()) {
      const nb::ft_lock_guard lock(All().mutex);
      // Nobody can wait for the loader's threads here.
      All().left.emplace_back(TakeLoader(), calls);
    } else {
      End(TakeLoader(), calls, false);
    }
  }
  PyLoader(const PyLoader&) = delete;
  PyLoader& operator=(const PyLoader&) = delete;

  // Calls `read`, which returns soon, with the loader. It stays open until then.
  // Under the lock, so that no close() comes between; hence only for functions that neither wait
  // nor call Python.
  template <class F>
  auto Ask(F read) {
    const nb::ft_lock_guard lock(mutex);
    return read(**Open());
  }
  void RequireOpen() {
    Ask([](Loader&) { return true; });
  }
  // Refuses to play all samples in each process of a group that was made after this loader.
  void RequireRank() {
    if (!may_be_a_rank) return;
    const std::optional<Rank> group = GroupOfTorch();
    if (!group || group->world_size == 1) return;
    throw Error(
        ErrorCode::kState,
        "the Loader was made before torch.distributed was initialised, so it does not know "
        "its rank, and each of the " +
            std::to_string(group->world_size) +
            " processes would play all samples; make it after init_process_group(), or give "
            "it LoaderOptions::ranks (world_size 1 to play all samples here)");
  }
  // Warns of epochs that were finished before a resume and are now played once more.
  void NoteEpoch(std::uint64_t epoch) {
    // exchange(): at most one warning, whichever thread comes first.
    const std::uint64_t resumed = resumed_epoch.exchange(0);
    if (epoch >= resumed) return;
    const std::string text =
        "this Loader resumes in epoch " + std::to_string(resumed) + ", and now plays epoch " +
        std::to_string(epoch) +
        " from its beginning; to play only what is left, begin the loop over epochs at "
        "loader.state_epoch";
    nb::module_::import_("warnings").attr("warn")(text, nb::none(), 1);
  }
  // Refuses to play a share if another class deals its batches out once more (sluice/_dealers.py).
  void RequireOneShare() {
    const Rank rank = Ask([](Loader& own) { return own.rank(); });
    if (rank.world_size <= 1) return;
    const nb::object refusal =
        nb::module_::import_("sluice._dealers").attr("refusal")(rank.rank, rank.world_size);
    if (nb::len(refusal) > 0) throw Error(ErrorCode::kState, Utf8Of(refusal));
  }
  // Does work that may wait, or call the user's functions. The loader lives until the work is done,
  // even if another thread closes it. `may_wait`: the work may wait for a server or for the
  // function that composes batches, and owns what it uses.
  template <class F>
  auto Play(F work, bool may_wait = false) {
    calls->RequireOutside();
    std::shared_ptr<Owned<Loader>> shared;
    {
      const nb::ft_lock_guard lock(mutex);
      shared = Open();
    }
    return std::shared_ptr(calls)->Play(
        [playing = std::move(shared), work = std::move(work)]() mutable {
          // Dropped at the end, without the GIL: the last owner waits for the loader's threads,
          // which may want the GIL.
          const auto own = std::move(playing);
          return work(**own);
        },
        may_wait && may_wait_long);
  }
  void Close() {
    calls->RequireOutside();
    End(TakeLoader(), calls, true);
  }
  // Closes all loaders.
  static void CloseAll() {
    for (;;) {
      std::shared_ptr<Owned<Loader>> loader;
      std::shared_ptr<UserCalls> functions;
      {
        const nb::ft_lock_guard lock(All().mutex);
        for (auto one = All().live.begin(); one != All().live.end() && loader == nullptr; ++one) {
          // Taken away under the lock, ended without it: End() waits for threads that may drop
          // other loaders.
          loader = (*one)->TakeLoader();
          functions = (*one)->calls;
        }
      }
      if (loader == nullptr) break;
      End(std::move(loader), functions, false);
    }
    EndLeft();
  }
  int Traverse(visitproc visit, void* arg) const { return calls->Traverse(visit, arg); }
  void Clear() {
    if (!calls->IsRunningHere())
      End(TakeLoader(), calls, false);  // or a later collection closes it
  }

 private:
  struct Loaders {
    nb::ft_mutex mutex;  // guards the other members if there is no GIL
    std::set<PyLoader*> live;
    // Those whose last reference was dropped inside one of their own functions.
    std::vector<std::pair<std::shared_ptr<Owned<Loader>>, std::shared_ptr<UserCalls>>> left;
  };
  // All loaders: they end before the interpreter does.
  static Loaders& All() {
    static Loaders all;
    return all;
  }
  // The loader, if it is open. `mutex` is locked.
  const std::shared_ptr<Owned<Loader>>& Open() const {
    if (loader != nullptr) {
      **loader;  // refuses a loader of another process
      return loader;
    }
    LeaveIfEnded();
    throw Error(ErrorCode::kState, "the Loader is closed");
  }
  std::shared_ptr<Owned<Loader>> TakeLoader() {
    const nb::ft_lock_guard lock(mutex);
    return std::move(loader);
  }
  // Waits for the threads, which may want the GIL to finish a user's function. But if a function
  // does not return, or if a signal raises an exception (`may_raise`), a thread is left to wait for
  // it.
  static void End(std::shared_ptr<Owned<Loader>> closing, std::shared_ptr<UserCalls> functions,
                  bool may_raise) {
    if (closing != nullptr && functions->has_functions()) {
      const auto task = std::make_shared<std::packaged_task<void()>>(
          [own = std::move(closing)]() mutable { own.reset(); });
      const std::future<void> ended = task->get_future();
      std::thread waiting;
      try {
        waiting = std::thread([task] { (*task)(); });
      } catch (const std::system_error&) {  // no thread can be started
        WithoutGil([&] { (*task)(); });
      }
      const auto begin = std::chrono::steady_clock::now();
      while (WithoutGil([&] { return ended.wait_for(50ms); }) != std::future_status::ready) {
        if (may_raise && PyErr_CheckSignals() != 0) {
          waiting.detach();
          nb::set_leak_warnings(false);  // a call that has not returned keeps its arguments
          throw nb::python_error();
        }
        if (std::chrono::steady_clock::now() - begin < kPatience) continue;
        if (const nb::object stuck = functions->StuckFor(kPatience); stuck.is_valid()) {
          waiting.detach();
          return WarnOfStuck(stuck, may_raise);
        }
      }
      if (waiting.joinable()) WithoutGil([&] { waiting.join(); });
    }
    WithoutGil([&] { closing.reset(); });
    functions->Clear();
    EndLeft();
  }
  static void WarnOfStuck(const nb::object& function, bool may_raise) {
    const nb::error_scope scope;   // an exception may be on its way
    nb::set_leak_warnings(false);  // as in End()
    const std::string text = "a Loader is closed, but its function " + Utf8Of(nb::repr(function)) +
                             " has not returned; the thread that called it is left behind";
    if (PyErr_WarnEx(PyExc_RuntimeWarning, text.c_str(), 1) == 0) return;
    if (may_raise) throw nb::python_error();
    PyErr_WriteUnraisable(function.ptr());
  }
  static void EndLeft() {
    decltype(Loaders::left) left;
    {
      const nb::ft_lock_guard lock(All().mutex);
      left.swap(All().left);
    }
    for (auto& [loader, functions] : left)
      End(std::move(loader), functions, false);
  }
};

using NamedArrays = nb::typed<nb::dict, nb::str, nb::ndarray<nb::numpy, std::int64_t>>;
using StatedNumbers =
    Stated<"typing.SupportsIndex | collections.abc.Iterable[typing.SupportsIndex] | slice">;

// One number or several.
std::vector<std::uint64_t> NumbersOf(const nb::object& given, const std::string& what) {
  if (nb::hasattr(given, "__iter__") || PySlice_Check(given.ptr()))
    return SampleNumbersOf(given, what);
  return SampleNumbersOf(nb::make_tuple(given), what);
}

// The rows as arrays, by name; pandas.DataFrame() makes a table of them.
NamedArrays ArraysOf(const std::vector<PlayedRow>& rows) {
  nb::dict arrays;
  const auto add = [&](const char* name, auto member) {
    std::vector<std::int64_t> values;
    for (const PlayedRow& row : rows)
      values.push_back(static_cast<std::int64_t>(row.*member));
    arrays[name] = OwnArray(std::move(values), DType::kInt64, {rows.size()});
  };
  add("sample", &PlayedRow::sample);
  add("epoch", &PlayedRow::epoch);
  add("batch", &PlayedRow::batch);
  add("rank", &PlayedRow::rank);
  add("row", &PlayedRow::row);
  add("position", &PlayedRow::position);
  return nb::borrow<NamedArrays>(arrays);
}

// One walk through an epoch, as Python's iterator.
struct Walk {
  nb::object owner;  // the PyLoader
  std::uint64_t epoch;
  std::optional<EpochPart> part;
  std::optional<EpochRange> range = {};
  std::thread::id ended_in = {};     // the thread that was given the end, before `is_over`
  std::atomic<bool> is_over{false};  // the walk has ended
  std::atomic_flag stepping{};       // a thread is in Next()

  Walk(nb::object loader, std::uint64_t of_epoch, std::optional<EpochPart> of_part = {})
      : owner(std::move(loader)), epoch(of_epoch), part(of_part) {}

  nb::object Next() {
    if (is_over) throw nb::stop_iteration();
    const Step step(*this);
    auto& loader = nb::cast<PyLoader&>(owner);
    if (!range) {
      // Only now: the process group may have been made after the loader.
      loader.RequireRank();
      loader.RequireOneShare();
      if (!part) loader.NoteEpoch(epoch);
      range = loader.Play(
          [of = epoch, in = part](Loader& playing) {
            return in ? playing.Epoch(of, *in) : playing.Epoch(of);
          },
          true);
    }
    loader.RequireOpen();
    std::optional<Batch> batch = {};
    const auto next = [&] { return NextWithin(loader.signal_poll, batch); };
    try {
      // Many short waits, so that signals are looked at in between, and the GIL is free during each
      // of them.
      for (std::chrono::milliseconds waited{0}; !loader.calls->Play(next);) {
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        waited += loader.signal_poll;
        if (loader.timeout > 0ms && waited >= loader.timeout) ThrowTimeout(loader);
      }
    } catch (const Error&) {
      loader.RequireOpen();  // another thread may have closed it meanwhile
      throw;
    }
    if (!batch) {
      // Stored before is_over: RequireUnplayed() reads it only after it has seen is_over.
      ended_in = std::this_thread::get_id();
      is_over = true;
      throw nb::stop_iteration();
    }
    return OfNoThread(nb::cast(PyBatch(std::move(*batch), loader.types)));
  }
  // A second `for` would find no batch, and say nothing. Threads that share the iterator may begin
  // their first one after its end.
  void RequireUnplayed() const {
    if (!is_over || ended_in != std::this_thread::get_id()) return;
    throw Error(ErrorCode::kState, "epoch " + std::to_string(epoch) +
                                       " has been played to its end, and this iterator over it has "
                                       "no more batches; call loader.epoch(" +
                                       std::to_string(epoch) + ") again to play it once more");
  }
  std::uint64_t Size() const {
    return nb::cast<PyLoader&>(owner).Play([this](Loader& loader) {
      return loader.batches_per_epoch(epoch, part.value_or(EpochPart()));
    });
  }
  int Traverse(visitproc visit, void* arg) const {
    Py_VISIT(owner.ptr());
    return 0;
  }
  void Clear() {
    is_over = true;
    owner = nb::none();
  }

 private:
  // Only one thread at a time takes a step. It gives up the GIL while it waits.
  class Step {
   public:
    explicit Step(Walk& walk) : walk_(walk) {
      if (walk.stepping.test_and_set()) {
        throw Error(ErrorCode::kState,
                    "another thread is waiting for a batch of this iterator, and only one thread "
                    "at a time may; give each thread its own Loader, or let one thread iterate and "
                    "pass its batches to the others by a queue");
      }
    }
    ~Step() { walk_.stepping.clear(); }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    Walk& walk_;
  };
  // Returns false if there is neither a batch nor the end after that time.
  bool NextWithin(std::chrono::milliseconds most, std::optional<Batch>& batch) const {
    if (!range->WaitFor(most)) return false;
    batch = range->Next();
    return true;
  }
  // A long wait is made of short ones here, so LoaderOptions::timeout is checked here, too.
  [[noreturn]] static void ThrowTimeout(const PyLoader& loader) {
    // The function was called later than the wait began.
    const nb::object stuck = loader.calls->StuckFor(loader.timeout / 2);
    throw Error(
        ErrorCode::kIo,
        "no batch came within " + std::to_string(loader.timeout.count()) + " ms (timeout): " +
            (stuck.is_valid() ? "the function " + Utf8Of(nb::repr(stuck)) + " has not returned"
                              : "the storage hangs or is slow, or the steps of the "
                                "transform take that long") +
            "; next() continues to wait");
  }
};

std::chrono::milliseconds Milliseconds(double seconds) {
  if (!(seconds >= 0 && seconds <= 1e9)) {
    throw Error(ErrorCode::kInvalidArgument, "timeout is a number of seconds; 0: no limit");
  }
  return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
}

FieldTypes TypesOf(const Mixture& mixture, const LoaderOptions& options) {
  FieldTypes types;
  for (const Mixture::Part& part : mixture.parts) {
    for (const Field& field : part.dataset.schema().fields) {
      const auto [known, is_new] = types.emplace(field.name, field);
      // One dataset may have more class names than another.
      if (!is_new && known->second.classes.size() < field.classes.size()) known->second = field;
    }
  }
  for (const Field& field : options.output.made_fields)
    types.emplace(field.name, field);
  return types;
}

using PlayedSource = std::variant<Dataset, Mixture, std::filesystem::path>;

Mixture MixtureOf(PlayedSource source) {
  if (auto* const mixture = std::get_if<Mixture>(&source)) return std::move(*mixture);
  if (auto* const dataset = std::get_if<Dataset>(&source)) return {{std::move(*dataset)}};
  const auto& path = std::get<std::filesystem::path>(source);
  return {{OpenDataset(path)}};
}

// LoaderOptions as Python gives them: functions are objects until a loader is there to keep them.
struct PyLoaderOptions : LoaderOptions {
  std::optional<StatedSampleFunction> for_sample = {};
  std::optional<StatedBatchFunction> for_batch = {};
  std::optional<StatedThreadSetup> for_thread = {};
  PyOrder order_here = {};
};

template <class V>
auto LoaderKeyword(const option_list::Option<LoaderOptions, V>& option) {
  using T = PyLoaderOptions;
  const char* const name = option.name;
  const char* const help = option.help;
  if constexpr (std::is_same_v<V, Pipeline>) {
    using Steps = std::optional<StatedSteps>;
    return Keyword{
        name, [](const T&) -> Steps { return nb::borrow<StatedSteps>(nb::tuple()); },
        [](T& options, const Steps& steps) { options.transform = PipelineOf(ObjectOf(steps)); },
        help};
  } else if constexpr (std::is_same_v<V, std::vector<ScheduledTransform>>) {
    using Schedule = std::optional<StatedSchedule>;
    return Keyword{name,
                   [](const T&) -> Schedule { return nb::borrow<StatedSchedule>(nb::tuple()); },
                   [](T& options, const Schedule& schedule) {
                     options.schedule = ScheduleOf(ObjectOf(schedule));
                   },
                   help};
  } else if constexpr (std::is_same_v<V, Device>) {
    using Name = std::optional<StatedDevice>;
    return Keyword{
        name, [](const T&) -> Name { return nb::borrow<StatedDevice>(nb::str("cpu")); },
        [](T& options, const Name& device) { options.device = DeviceOf(ObjectOf(device)); }, help};
  } else if constexpr (std::is_same_v<V, std::optional<ResumePoint>>) {
    return Keyword{name, [](const T&) { return std::optional<std::string>(); },
                   [](T& options, const std::optional<std::string>& state) {
                     if (state) options.resume_from = ResumePoint::Parse(*state);
                   },
                   help};
  } else if constexpr (std::is_same_v<V, std::chrono::milliseconds>) {
    return Keyword{name, [](const T&) { return 0.0; },
                   [](T& options, double seconds) { options.timeout = Milliseconds(seconds); },
                   help};
  } else if constexpr (std::is_same_v<V, SampleFunction>) {
    return Member(name, &T::for_sample, help);
  } else if constexpr (std::is_same_v<V, BatchFunction>) {
    return Member(name, &T::for_batch, help);
  } else if constexpr (std::is_same_v<V, ThreadSetup>) {
    return Member(name, &T::for_thread, help);
  } else if constexpr (std::is_same_v<V, OrderOptions>) {
    return Member(name, &T::order_here, help);
  } else {
    return Member(name, static_cast<V T::*>(option.member), help);
  }
}

void MakeLoader(PyLoader* self, PlayedSource source, PyLoaderOptions options) {
  LeaveIfEnded();
  if (HasEnded()) {
    throw Error(ErrorCode::kState, "the interpreter is ending, so a Loader cannot be created");
  }
  options.order = options.order_here;
  RankOptions& ranks = options.ranks;
  const std::optional<Rank> group = ranks.world_size == 0 ? GroupOfTorch() : std::nullopt;
  if (group) {
    ranks.rank = group->rank;
    ranks.world_size = group->world_size;
  }
  // Neither the options nor torch nor a launcher named a rank: see RequireRank().
  const bool may_be_a_rank = ranks.world_size == 0 && Rank::FromEnvironment().variables.empty();
  const bool mixed = std::holds_alternative<Mixture>(source);
  const Mixture played = MixtureOf(std::move(source));
  const auto types = std::make_shared<const FieldTypes>(TypesOf(played, options));
  const auto calls = std::make_shared<UserCalls>();
  options.sample_function =
      SampleFunctionOf(ObjectOf(std::exchange(options.for_sample, {})), calls, types);
  options.batch_function =
      BatchFunctionOf(ObjectOf(std::exchange(options.for_batch, {})), calls, types);
  options.thread_setup = ThreadSetupOf(ObjectOf(std::exchange(options.for_thread, {})), calls);
  options.order.batches = BatchSamplerOf(ObjectOf(options.order_here.batches_function), calls);
  const bool remote = std::ranges::any_of(
      played.parts, [](const Mixture::Part& part) { return IsRemote(part.dataset.path()); });
  const std::chrono::milliseconds timeout = options.timeout;
  // With a timeout, another thread composes batches, and this one waits for it.
  const bool waits = remote || (options.order.batches && timeout > 0ms);
  // A thread_setup that does not return would hold up this thread, which waits for it.
  const bool may_wait = waits || (options.thread_setup && options.threads != 0U);
  Loader loader = calls->Play(
      [played, mixed, options = LoaderOptions(std::move(options))]() mutable {
        return mixed ? Loader(played, std::move(options))
                     : Loader(played.parts[0].dataset, std::move(options));
      },
      may_wait);
  new (self) PyLoader(std::move(loader), calls, types, timeout);
  self->may_wait_long = waits;
  self->may_be_a_rank = may_be_a_rank;
  if (HasEnded()) self->Close();  // all other loaders were closed while this one was being made
}

// Binds the constructor by these keywords, of which the first may also be given by position.
template <class First, class... K>
void BindInit(nb::class_<PyLoader>& bound, const First& first, const K&... others) {
  PyLoaderOptions usual;
  usual.ring.hold = kHold;
  bound.def(
      "__init__",
      [first, others...](PyLoader* self, PlayedSource source,
                         ValueOf<PyLoaderOptions, First> of_first,
                         ValueOf<PyLoaderOptions, K>... values) {
        PyLoaderOptions options;
        first.set(options, of_first);
        (others.set(options, std::move(values)), ...);
        MakeLoader(self, std::move(source), std::move(options));
      },
      "dataset"_a, ArgumentOf(first, usual), nb::kw_only(), ArgumentOf(others, usual)...);
}

}  // namespace

void BindLoader(nb::module_& module) {
  nb::class_<Walk> walks(module, "Epoch", nb::type_slots(Collected<Walk>::slots),
                         "An iterator over the batches of one epoch");
  RefusePickling(walks,
                 "an epoch under way cannot be pickled; Loader.state() says where it stands");
  walks
      .def(
          "__iter__",
          [](nb::handle self) {
            nb::cast<const Walk&>(self).RequireUnplayed();
            return self;
          },
          nb::sig("def __iter__(self) -> Epoch"))
      .def("__len__", &Walk::Size, "Batches in the epoch, of this rank")
      .def("__next__", &Walk::Next, nb::sig("def __next__(self) -> Batch"));
  // A collection finalizes before it breaks cycles, so the threads have ended when it frees what a
  // compiled function needs.
  PyType_Slot slots[] = {Collected<PyLoader>::slots[0],
                         Collected<PyLoader>::slots[1],
                         {Py_tp_finalize, reinterpret_cast<void*>(+[](PyObject* self) {
                            Collected<PyLoader>::Clear(self);
                          })},
                         {0, nullptr}};
  const std::string doc =
      "Epochs of batches from a dataset or a Mixture, decoded ahead by threads. `for batch in "
      "loader` iterates over the next epoch; epoch(n) over epoch n.\n\n"
      "transform: a list of steps, or their text form; "
      "schedule: a list of (epoch, steps); device: 'cpu' or 'cuda:0'; resume_from: the text of an "
      "earlier state(); timeout: seconds.\n" +
      std::apply([](const auto&... options) { return KeywordLines(options...); },
                 option_list::OptionsOf<LoaderOptions>.options);
  nb::class_<PyLoader> bound(module, "Loader", nb::is_weak_referenceable(), nb::type_slots(slots),
                             doc.c_str());
  RefusePickling(bound,
                 "a Loader has threads and cannot be pickled or copied; make it in the process "
                 "that plays it (its dataset and options can be pickled; state() says where it "
                 "stands)");
  std::apply([&](const auto&... options) { BindInit(bound, LoaderKeyword(options)...); },
             option_list::OptionsOf<LoaderOptions>.options);
  bound
      .def(
          "epoch",
          [](nb::handle self, std::uint64_t epoch, std::optional<std::uint64_t> first,
             std::optional<std::uint64_t> count) {
            if (first || count)
              return new Walk(nb::borrow(self), epoch,
                              EpochPart{first.value_or(0), count.value_or(UINT64_MAX)});
            nb::cast<PyLoader&>(self).next_epoch = epoch + 1;
            return new Walk(nb::borrow(self), epoch);
          },
          "epoch"_a, nb::kw_only(), "first"_a.none() = nb::none(), "count"_a.none() = nb::none(),
          "Plays this epoch from its beginning, or from the place that resume_from gives. With "
          "`first` or `count`: only `count` batches from number `first` on, whatever resume_from "
          "says, and the next `for` plays the epoch that it would play anyway")
      .def(
          "when",
          [](PyLoader& loader, const StatedNumbers& samples, const StatedNumbers& epochs) {
            const std::vector<std::uint64_t> numbers =
                NumbersOf(samples, "when() takes sample numbers");
            const std::vector<std::uint64_t> of_epochs =
                NumbersOf(epochs, "when() takes epoch numbers");
            return ArraysOf(
                loader.Play([&](Loader& playing) { return playing.When(numbers, of_epochs); }));
          },
          "samples"_a, "epochs"_a,
          "When a training with these options plays the samples, by the plan: arrays of all rows "
          "that have one of the samples in one of the epochs, on all ranks, in the order of "
          "epochs, batches, ranks and rows, but not those that show it beside their own sample, as "
          "Mosaic's do (Batch.parts()). \"batch\" is the batch's number in the epoch, "
          "\"position\" the sample's position in it. Each argument is a number, or several")
      .def(
          "row",
          [](PyLoader& loader, std::uint64_t sample, std::uint64_t epoch) {
            Batch row = loader.Play(
                [sample, epoch](Loader& playing) { return playing.Row(sample, epoch); }, true);
            return PyBatch(std::move(row), loader.types);
          },
          "sample"_a, "epoch"_a,
          "The given sample as it comes in the given epoch, as a batch of one row, before MixUp, "
          "CutMix and batch_function")
      .def("__iter__",
           [](nb::handle self) {
             return new Walk(nb::borrow(self), nb::cast<PyLoader&>(self).next_epoch++);
           })
      .def(
          "tee",
          [](const nb::object& self, std::size_t branches, std::size_t apart) {
            const double timeout =
                std::chrono::duration<double>(nb::cast<PyLoader&>(self).timeout).count();
            return nb::module_::import_("sluice._tee").attr("tee")(self, branches, apart, timeout);
          },
          "branches"_a, nb::kw_only(), "apart"_a = 1,
          nb::sig("def tee(self, branches: int, *, apart: int = 1) -> "
                  "list[collections.abc.Iterable[Batch]]"),
          "The same batches for several loops, each in a thread of its own: `for batch in branch` "
          "plays the next epoch, for each of the branches. A batch is decoded once, and its memory "
          "is shared: do not change it in place. The fastest branch may be `apart` batches ahead "
          "of the slowest, and then waits for it; RingOptions.hold must be larger than `apart`. A "
          "loop that ends early does not hold up the others. Iterate over the loader itself only "
          "before the loops begin, or after all of them have ended.")
      .def(
          "set_epoch", [](PyLoader& loader, std::uint64_t epoch) { loader.next_epoch = epoch; },
          "epoch"_a, "The epoch that the next `for` plays")
      .def(
          "__len__",
          [](PyLoader& loader) {
            return loader.Play([epoch = loader.next_epoch.load()](Loader& playing) {
              return playing.batches_per_epoch(epoch);
            });
          },
          "Batches in an epoch, of this rank")
      .def(
          "state",
          [](PyLoader& loader) {
            return loader.Ask([](Loader& own) { return own.State().Text(); });
          },
          "The loader's place in its epochs, as a line of text for a checkpoint: see resume_from")
      .def_prop_ro(
          "state_epoch",
          [](PyLoader& loader) {
            return loader.Ask([](Loader& own) { return own.State().epoch; });
          },
          "The epoch of the place that state() returns")
      .def(
          "samples_per_epoch",
          [](PyLoader& loader, std::uint64_t epoch) {
            return loader.Play(
                [epoch](Loader& playing) { return playing.samples_per_epoch(epoch); });
          },
          "epoch"_a = 0)
      .def_prop_ro(
          "rank",
          [](PyLoader& loader) {
            const Rank rank = loader.Ask([](Loader& own) { return own.rank(); });
            return std::pair(rank.rank, rank.world_size);
          },
          "(rank, world size)")
      .def("stats",
           [](PyLoader& loader) { return loader.Ask([](Loader& own) { return own.Stats(); }); })
      .def(
          "faults",
          [](PyLoader& loader) { return loader.Ask([](Loader& own) { return own.Faults(); }); },
          "The samples that could not be read so far")
      .def(
          "memory",
          [](PyLoader& loader) {
            // Waits while another thread is in row(), whose functions may want the GIL.
            return MemoryOf(loader.Play([](Loader& playing) { return playing.Memory(); }));
          },
          "The most memory the loader uses, in bytes: \"own\" is its own memory, if the ring grows "
          "to its limit; \"mapped\" is memory of mapped files, which the kernel takes back when it "
          "needs memory")
      .def(
          "describe",
          [](PyLoader& loader) {
            return InPythonsWords(loader.Ask([](Loader& own) { return own.Describe(); }));
          },
          "How each step runs, and the shape and type of the result")
      .def(
          "pipeline",
          [](PyLoader& loader, std::uint64_t epoch) {
            return loader.Ask([epoch](Loader& own) { return own.PipelineText(epoch); });
          },
          "epoch"_a = 0,
          "The steps that make an image into its row in that epoch, as JSON, with the row's size, "
          "channels and layout, and the names of the classes: for Preprocess, with which a server "
          "makes the same rows")
      .def("close", &PyLoader::Close, "Ends the threads; batches stay valid")
      .def(
          "__enter__", [](nb::handle self) { return self; },
          nb::sig("def __enter__(self) -> Loader"))
      .def(
          "__exit__", [](PyLoader& loader, nb::args) { loader.Close(); },
          nb::sig("def __exit__(self, *args: object) -> None"))
      .def("__repr__", [](PyLoader& loader) {
        std::shared_ptr<Owned<Loader>> own;
        {
          const nb::ft_lock_guard lock(loader.mutex);
          own = loader.loader;
        }
        if (own == nullptr) return std::string("Loader (closed)");
        return InPythonsWords(WithoutGil([of = std::move(own)]() { return (**of).Describe(); }));
      });
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] {
    NoteEnd();
    // Daemon threads never release what they hold; that is not a leak of this module.
    if (nb::cast<int>(nb::module_::import_("threading").attr("active_count")()) > 1)
      nb::set_leak_warnings(false);
    PyLoader::CloseAll();
    // The thread of a function that has not returned keeps the function's arguments.
    if (UserCalls::AnyRunning()) nb::set_leak_warnings(false);
  }));
}

}  // namespace sluice::python
