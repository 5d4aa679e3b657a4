// The loader and its epochs. Waiting releases the GIL and looks at signals, so that Ctrl-C works.
#include <algorithm>
#include <mutex>
#include <set>

#include <sluice/mixture.h>

#include "reader/python/binding/keywords.h"
#include "reader/python/binding/user_calls.h"

namespace sluice::python {

namespace {

using std::chrono_literals::operator""ms;

constexpr auto kLook = 100ms;

// Rank and size of torch.distributed's process group, if it has been initialised. Launchers such as
// torch.multiprocessing tell the rank to nothing else.
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
  // Empty once closed. A thread that plays without the GIL has a copy meanwhile.
  std::shared_ptr<Owned<Loader>> loader;
  std::shared_ptr<UserCalls> calls;
  std::shared_ptr<const FieldTypes> types;
  std::chrono::milliseconds timeout;  // 0: none
  std::chrono::milliseconds look;     // after which a wait looks at signals
  bool remote = false;
  bool may_be_a_rank = false;  // nobody has said so far which rank it is
  std::uint64_t next_epoch = 0;
  std::mutex beginning;                 // of a walk, without the GIL
  std::atomic<std::uint64_t> walks{0};  // begun so far; the last of them goes on

  PyLoader(Loader made, std::shared_ptr<UserCalls> functions,
           std::shared_ptr<const FieldTypes> fields, std::chrono::milliseconds most)
      : loader(std::make_shared<Owned<Loader>>(std::move(made))),
        calls(std::move(functions)),
        types(std::move(fields)),
        timeout(most),
        look(most > 0ms ? std::min(most, kLook) : kLook) {
    next_epoch = (*loader)->State().epoch;
    Live().insert(this);
  }
  ~PyLoader() {
    if (calls->IsRunningHere()) {
      Left().push_back(std::move(loader));  // its threads cannot be waited for here
    } else {
      Close();
    }
    Live().erase(this);
  }
  PyLoader(const PyLoader&) = delete;
  PyLoader& operator=(const PyLoader&) = delete;

  Loader& operator*() {
    if (loader != nullptr) return **loader;
    LeaveIfEnded();
    throw Error(ErrorCode::kState, "the Loader is closed");
  }
  Loader* operator->() { return &**this; }
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
  // What may wait, or call the user's functions. The loader stays while another thread closes it.
  // `may_wait`: it may wait for a server, and owns what it uses.
  template <class F>
  auto Play(F work, bool may_wait = false) {
    **this;  // refuses a loader that is closed or of another process
    return std::shared_ptr(calls)->Play(
        [playing = loader, work = std::move(work)]() mutable {
          auto result = work(**playing);
          playing.reset();  // here: the last owner waits for threads, which may want the GIL
          return result;
        },
        may_wait && remote);
  }
  // Waits for the threads, which may want the GIL to finish a user's function. Another thread may
  // drop this object meanwhile.
  void Close() {
    const std::shared_ptr<UserCalls> functions = calls;
    functions->RequireOutside();
    std::shared_ptr<Owned<Loader>> closing = std::move(loader);
    std::vector<std::shared_ptr<Owned<Loader>>> left = std::move(Left());
    Left().clear();
    WithoutGil([&] {
      closing.reset();
      left.clear();
    });
    functions->Clear();
  }
  int Traverse(visitproc visit, void* arg) const { return calls->Traverse(visit, arg); }
  void Clear() {
    if (!calls->IsRunningHere()) Close();  // else by a later collection
  }
  // All loaders, guarded by the GIL: they end before the interpreter does.
  static std::set<PyLoader*>& Live() {
    static std::set<PyLoader*> live;
    return live;
  }
  // Those whose last reference one of their own functions dropped; guarded by the GIL.
  static std::vector<std::shared_ptr<Owned<Loader>>>& Left() {
    static std::vector<std::shared_ptr<Owned<Loader>>> left;
    return left;
  }
};

// One walk through an epoch.
struct Walk {
  nb::object owner;  // the PyLoader
  std::uint64_t epoch;
  std::optional<EpochRange> range = {};
  std::uint64_t number = 0;   // of the loader's walks
  std::uint64_t batches = 0;  // of the epoch
  bool has_last = false, is_over = false;
  bool stepping = false;  // a thread is in Next()

  nb::object Next() {
    if (is_over) throw nb::stop_iteration();
    const Step step(*this);
    auto& loader = nb::cast<PyLoader&>(owner);
    if (!range) {
      loader.RequireRank();
      range = loader.Play([&](Loader& playing) {
        batches = playing.batches_per_epoch(epoch);
        // The walk with the highest number is the one that the Loader goes on with.
        const std::scoped_lock lock(loader.beginning);
        number = ++loader.walks;  // before the walk that it ends can find out that it has ended
        return playing.Epoch(epoch);
      });
    }
    *loader;  // refuses a loader that is closed or of another process
    std::optional<Batch> batch = {};
    const auto next = [&] { return NextWithin(loader.look, batch); };
    for (std::chrono::milliseconds waited{0}; !loader.calls->Play(next);) {
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
      waited += loader.look;
      if (loader.timeout > 0ms && waited >= loader.timeout) ThrowTimeout(loader.timeout);
    }
    is_over = !batch;
    if (is_over && !has_last && number != loader.walks) {
      throw Error(ErrorCode::kState,
                  "another epoch of this Loader was begun, which ended this one: a Loader plays "
                  "one epoch at a time; make a second Loader to play two");
    }
    if (is_over) throw nb::stop_iteration();
    has_last = batch->index() + 1 == batches;
    return nb::cast(PyBatch{Owned<Batch>(std::move(*batch)), loader.types});
  }
  std::uint64_t Size() const {
    return nb::cast<PyLoader&>(owner).Play(
        [this](Loader& loader) { return loader.batches_per_epoch(epoch); });
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
      if (walk.stepping) {
        throw Error(ErrorCode::kState,
                    "another thread is waiting for a batch of this iterator, and only one thread "
                    "at a time may; give each thread its own Loader, or let one thread iterate and "
                    "pass its batches to the others by a queue");
      }
      walk.stepping = true;
    }
    ~Step() { walk_.stepping = false; }
    Step(const Step&) = delete;
    Step& operator=(const Step&) = delete;

   private:
    Walk& walk_;
  };
  // False if there is no batch yet, nor an end, after that time.
  bool NextWithin(std::chrono::milliseconds most, std::optional<Batch>& batch) const {
    if (!range->WaitFor(most)) return false;
    batch = range->Next();
    return true;
  }
  // The waiting is done in pieces here, so LoaderOptions::timeout is looked after here, too.
  [[noreturn]] static void ThrowTimeout(std::chrono::milliseconds timeout) {
    throw Error(ErrorCode::kIo, "no batch came within " + std::to_string(timeout.count()) +
                                    " ms (timeout): the storage hangs or is slow, or the steps of "
                                    "the transform take that long; next() goes on waiting");
  }
};

std::chrono::milliseconds Milliseconds(double seconds) {
  if (!(seconds >= 0 && seconds <= 1e9)) {
    throw Error(ErrorCode::kInvalidArgument, "timeout is a number of seconds; 0 is no limit");
  }
  return std::chrono::ceil<std::chrono::milliseconds>(std::chrono::duration<double>(seconds));
}

FieldTypes TypesOf(const Mixture& mixture, const LoaderOptions& options) {
  FieldTypes types;
  for (const Mixture::Part& part : mixture.parts) {
    for (const Field& field : part.dataset.schema().fields) {
      const auto [known, is_new] = types.emplace(field.name, field);
      // Class names may go on where another dataset's end.
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
  return {{Interruptibly(IsRemote(path), [path] { return Dataset::Open(path); })}};
}

void MakeLoader(PyLoader* self, PlayedSource source, std::size_t batch_size,
                std::optional<unsigned> threads, nb::handle transform, std::vector<View> views,
                std::vector<OutputSize> sizes, nb::handle schedule, std::uint64_t seed,
                const std::optional<std::string>& resume_from, nb::handle device,
                nb::object sample_function, nb::object batch_function, nb::object thread_setup,
                PyOrder order, RankOptions ranks, Storage storage,
                std::optional<DecodedPictures> keep, std::optional<Stage> stage, RingOptions ring,
                double timeout, OutputOptions output, IntegrityOptions integrity,
                OnDevice on_device, DiagnosticsOptions diagnostics) {
  LeaveIfEnded();
  if (HasEnded()) {
    throw Error(ErrorCode::kState, "the interpreter is ending, so no Loader can be made any more");
  }
  LoaderOptions options;
  options.batch_size = batch_size;
  options.threads = threads;
  options.transform = PipelineOf(transform);
  options.views = std::move(views);
  options.sizes = std::move(sizes);
  options.schedule = ScheduleOf(schedule);
  options.seed = seed;
  if (resume_from) options.resume_from = ResumePoint::Parse(*resume_from);
  options.device = DeviceOf(device);
  options.order = order;
  const std::optional<Rank> group = ranks.world_size == 0 ? GroupOfTorch() : std::nullopt;
  if (group) {
    ranks.rank = group->rank;
    ranks.world_size = group->world_size;
  }
  options.ranks = ranks;
  options.storage = storage;
  options.keep = std::move(keep);
  options.stage = std::move(stage);
  options.ring = ring;
  options.timeout = Milliseconds(timeout);
  options.output = std::move(output);
  options.integrity = integrity;
  options.on_device = on_device;
  options.diagnostics = std::move(diagnostics);
  const bool mixed = std::holds_alternative<Mixture>(source);
  const Mixture played = MixtureOf(std::move(source));
  const auto types = std::make_shared<const FieldTypes>(TypesOf(played, options));
  const auto calls = std::make_shared<UserCalls>();
  options.sample_function = SampleFunctionOf(std::move(sample_function), calls, types);
  options.batch_function = BatchFunctionOf(std::move(batch_function), calls, types);
  options.thread_setup = ThreadSetupOf(std::move(thread_setup), calls);
  options.order.batches = BatchSamplerOf(order.batches_function, calls);
  const bool remote =
      std::any_of(played.parts.begin(), played.parts.end(),
                  [](const Mixture::Part& part) { return IsRemote(part.dataset.path()); });
  Loader loader = calls->Play(
      [played, mixed, options]() mutable {
        return mixed ? Loader(played, std::move(options))
                     : Loader(played.parts[0].dataset, std::move(options));
      },
      remote);
  new (self) PyLoader(std::move(loader), calls, types, Milliseconds(timeout));
  self->remote = remote;
  self->may_be_a_rank = ranks.world_size == 0 && Rank::FromEnvironment().variables.empty();
  if (HasEnded()) self->Close();  // it was being made when all others were closed
}

}  // namespace

void BindLoader(nb::module_& module) {
  nb::class_<Walk> walks(module, "Epoch", nb::type_slots(Collected<Walk>::slots),
                         "An iterator over the batches of one epoch");
  RefusePickling(walks,
                 "an epoch under way cannot be pickled; Loader.state() says where it stands");
  walks
      .def(
          "__iter__", [](nb::handle self) { return self; }, nb::sig("def __iter__(self) -> Epoch"))
      .def("__len__", &Walk::Size, "Batches in the epoch, of this rank")
      .def("__next__", &Walk::Next, nb::sig("def __next__(self) -> Batch"));
  const LoaderOptions options;
  // A collection finalizes before it breaks cycles, so the threads have ended when it frees what a
  // compiled function needs.
  PyType_Slot slots[] = {Collected<PyLoader>::slots[0],
                         Collected<PyLoader>::slots[1],
                         {Py_tp_finalize, reinterpret_cast<void*>(+[](PyObject* self) {
                            Collected<PyLoader>::Clear(self);
                          })},
                         {0, nullptr}};
  nb::class_<PyLoader> bound(
      module, "Loader", nb::is_weak_referenceable(), nb::type_slots(slots),
      "Epochs of batches from a dataset or a Mixture, decoded ahead by threads. Options have the "
      "names, "
      "defaults "
      "and meanings of loader_options.h (transform: a list of steps, or their text form; schedule: "
      "a list of (epoch, steps); device: "
      "'cpu' or 'cuda:0'; resume_from: the text of an earlier state(); timeout: seconds). `for "
      "batch in loader` "
      "plays "
      "the next epoch; epoch(n) plays any.");
  RefusePickling(bound,
                 "a Loader has threads and cannot be pickled or copied; make it in the process "
                 "that plays it (its dataset and options can be pickled; state() says where it "
                 "stands)");
  bound
      .def("__init__", &MakeLoader, "dataset"_a, "batch_size"_a = options.batch_size, nb::kw_only(),
           "threads"_a = nb::none(), "transform"_a.none() = nb::tuple(),
           "views"_a = std::vector<View>(), "sizes"_a = std::vector<OutputSize>(),
           "schedule"_a.none() = nb::tuple(), "seed"_a = 0, "resume_from"_a = nb::none(),
           "device"_a.none() = "cpu", "sample_function"_a = nb::none(),
           "batch_function"_a = nb::none(), "thread_setup"_a = nb::none(), "order"_a = PyOrder(),
           "ranks"_a = RankOptions(), "storage"_a = Mapped(), "keep"_a = nb::none(),
           "stage"_a = nb::none(), "ring"_a = RingOptions{.hold = kHold}, "timeout"_a = 0.0,
           "output"_a = OutputOptions(), "integrity"_a = IntegrityOptions(),
           "on_device"_a = OnDevice(), "diagnostics"_a = DiagnosticsOptions())
      .def(
          "epoch",
          [](nb::handle self, std::uint64_t epoch) {
            nb::cast<PyLoader&>(self).next_epoch = epoch + 1;
            return Walk{nb::borrow(self), epoch};
          },
          "epoch"_a, "Plays that epoch, from its beginning or from where resume_from stands")
      .def(
          "row",
          [](PyLoader& loader, std::uint64_t sample, std::uint64_t epoch) {
            Batch row = loader.Play(
                [sample, epoch](Loader& playing) { return playing.Row(sample, epoch); }, true);
            return PyBatch{Owned<Batch>(std::move(row)), loader.types};
          },
          "sample"_a, "epoch"_a,
          "What that epoch holds for one sample, as a batch of one row, before MixUp, CutMix and "
          "batch_function")
      .def("__iter__",
           [](nb::handle self) {
             return Walk{nb::borrow(self), nb::cast<PyLoader&>(self).next_epoch++};
           })
      .def(
          "set_epoch", [](PyLoader& loader, std::uint64_t epoch) { loader.next_epoch = epoch; },
          "epoch"_a, "The epoch that the next `for` plays")
      .def(
          "__len__",
          [](PyLoader& loader) {
            return loader.Play([epoch = loader.next_epoch](Loader& playing) {
              return playing.batches_per_epoch(epoch);
            });
          },
          "Batches in an epoch, of this rank")
      .def(
          "state", [](PyLoader& loader) { return loader->State().Text(); },
          "Where the stream stands, as a line of text for a checkpoint: see resume_from")
      .def_prop_ro(
          "state_epoch", [](PyLoader& loader) { return loader->State().epoch; },
          "The epoch in which that is")
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
            return std::pair(loader->rank().rank, loader->rank().world_size);
          },
          "(rank, world size)")
      .def("stats", [](PyLoader& loader) { return loader->Stats(); })
      .def(
          "faults", [](PyLoader& loader) { return loader->Faults(); },
          "The samples that could not be read so far")
      .def(
          "memory", [](PyLoader& loader) { return MemoryOf(loader->Memory()); },
          "The most memory the loader uses, in bytes: see loader_memory.h")
      .def(
          "describe", [](PyLoader& loader) { return loader->Describe(); },
          "How each step runs, and the shape and type of the result")
      .def("close", &PyLoader::Close, "Ends the threads; batches stay valid")
      .def(
          "__enter__", [](nb::handle self) { return self; },
          nb::sig("def __enter__(self) -> Loader"))
      .def(
          "__exit__", [](PyLoader& loader, nb::args) { loader.Close(); },
          nb::sig("def __exit__(self, *args: object) -> None"))
      .def("__repr__", [](PyLoader& loader) {
        return loader.loader ? loader->Describe() : std::string("Loader (closed)");
      });
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] {
    NoteEnd();
    // What daemon threads hold is never let go of, and no leak of this module.
    if (nb::cast<int>(nb::module_::import_("threading").attr("active_count")()) > 1)
      nb::set_leak_warnings(false);
    // Closing lets other threads run, which may drop loaders.
    const auto is_open = [](const PyLoader* one) { return one->loader != nullptr; };
    auto& live = PyLoader::Live();
    for (auto open = live.begin(); open != live.end();) {
      open = std::find_if(live.begin(), live.end(), is_open);
      if (open != live.end()) (*open)->Close();
    }
  }));
}

}  // namespace sluice::python
