// Dropping a Python object may run Python code, which may call the same loader again. So no object
// is destroyed while `mutex_` is locked: it is moved into a local variable that is declared before
// the lock, and that is therefore destroyed after it. An exception of a user's function crosses the
// library as a line of text; RaiseWithCause() finds the exception again by that line in the Error's
// message. KeyboardInterrupt and the like are not causes of an Error: they wait in `raised_` until
// Play() raises them as they are. The frames of an exception are cleared, since their variables may
// be arrays over memory that will be reused.
#include "reader/python/binding/user_calls.h"

#include <algorithm>

namespace sluice::python {

namespace {

// The most exceptions that are kept as possible causes of an Error. The cause was raised only a
// moment ago, so few are enough.
constexpr std::size_t kMaxCauses = 8;

// The loaders of which this thread is running a function, outermost first.
std::vector<const UserCalls*>& RunningHere() {
  static thread_local std::vector<const UserCalls*> running;
  return running;
}

// The exception as a line, with the place where it was raised.
std::string LineOf(const nb::python_error& error) {
  try {
    const nb::module_ traceback = nb::module_::import_("traceback");
    const nb::object lines = traceback.attr("format_exception_only")(error.type(), error.value());
    const nb::object stripped = lines[nb::int_(-1)].attr("strip")();
    const auto line = Utf8Of(stripped);
    const nb::object frames = traceback.attr("extract_tb")(error.traceback());
    // The last line of the user's own: a mistake is noticed in this package, but made there.
    const std::string package =
        Utf8Of(nb::module_::import_("sluice").attr("__path__")[nb::int_(0)]) + "/";
    std::string place;
    for (const nb::handle frame : frames) {
      const std::string file = Utf8Of(frame.attr("filename"));
      if (!place.empty() && file.starts_with(package)) break;
      place = " (" + file + ", line " + std::to_string(nb::cast<int>(frame.attr("lineno"))) + ")";
    }
    return line + place;
  } catch (const std::exception&) {
    return error.what();
  }
}

// Clears the local variables in the frames of an exception, and in those of the exceptions that it
// came from: there may be arrays among them, over memory that will be reused.
void ClearFrames(nb::object exception) {
  const nb::object clear = nb::module_::import_("traceback").attr("clear_frames");
  for (int depth = 0; depth < 100 && !exception.is_none(); ++depth) {
    const nb::object frames = exception.attr("__traceback__");
    if (!frames.is_none()) clear(frames);
    exception = exception.attr("__context__");
  }
}

}  // namespace

UserCalls::~UserCalls() {
  if (nb::is_alive()) {
    const Acquired acquired;
    Clear();
    return;
  }
  raised_.release();  // the interpreter is gone, and the objects with it
  for (auto& cause : causes_)
    cause.second.release();
}

UserCalls::Kept UserCalls::Keep(nb::object object) {
  return KeepIn(objects_, std::move(object));
}

UserCalls::Kept UserCalls::KeepForNative(nb::object object) {
  return KeepIn(native_, std::move(object));
}

UserCalls::Kept UserCalls::KeepIn(std::list<nb::object>& objects, nb::object object) {
  const nb::ft_lock_guard lock(mutex_);
  const auto at = objects.insert(objects.end(), std::move(object));
  // The deleter keeps this object, which owns the list, and is called by any thread that drops the
  // last reference; hence it takes the GIL itself.
  return {&*at, [self = shared_from_this(), &objects, at](const nb::object*) mutable {
            if (!nb::is_alive()) return;  // the interpreter is gone, and the object with it
            const Acquired acquired;
            nb::object dropped;
            {
              const nb::ft_lock_guard erasing(mutex_);
              dropped = std::move(*at);
              objects.erase(at);
            }
            self.reset();
          }};
}

nb::object UserCalls::Get(const Kept& kept) {
  const nb::ft_lock_guard lock(mutex_);
  return *kept;
}

int UserCalls::Traverse(visitproc visit, void* arg) const {
  for (const auto* const objects : {&objects_, &native_}) {
    for (const nb::object& object : *objects)
      Py_VISIT(object.ptr());
  }
  for (const auto& cause : causes_)
    Py_VISIT(cause.second.ptr());
  Py_VISIT(raised_.ptr());
  return 0;
}

void UserCalls::Clear() {
  // The objects are destroyed when this function returns, because their destructors may call this
  // loader again.
  std::vector<nb::object> dropped;
  const nb::ft_lock_guard lock(mutex_);
  dropped.push_back(std::move(raised_));
  for (nb::object& object : objects_)
    dropped.push_back(std::move(object));
  for (auto& cause : causes_)
    dropped.push_back(std::move(cause.second));
  causes_.clear();
}

UserCalls::Running::Running(UserCalls& calls, nb::handle function)
    : calls_(calls), function_(function) {
  RunningHere().push_back(&calls);
  ++all_running_;
  const nb::ft_lock_guard lock(mutex_);
  calls_.running_.push_back(this);
}

UserCalls::Running::~Running() {
  RunningHere().pop_back();
  --all_running_;
  const nb::ft_lock_guard lock(mutex_);
  std::erase(calls_.running_, this);
}

bool UserCalls::has_functions() const {
  const nb::ft_lock_guard lock(mutex_);
  return !objects_.empty();
}

nb::object UserCalls::StuckFor(std::chrono::milliseconds least) const {
  const auto now = std::chrono::steady_clock::now();
  const nb::ft_lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(
      running_, [&](const Running* one) { return now - one->since_ >= least; });
  return found == running_.end() ? nb::object() : nb::borrow((*found)->function_);
}

bool UserCalls::IsRunningHere() const noexcept {
  const auto& running = RunningHere();
  return std::ranges::find(running, this) != running.end();
}

void UserCalls::RequireOutside() const {
  if (!IsRunningHere()) return;
  throw Error(ErrorCode::kState,
              "a function of a Loader cannot play or close the Loader that calls it, which waits "
              "for the function; make a second Loader");
}

std::string UserCalls::Note(nb::python_error& error) {
  std::string line = LineOf(error);
  nb::object value = nb::borrow(error.value());
  ClearFrames(value);
  // KeyboardInterrupt and SystemExit do not derive from Exception. Only the first is kept.
  const bool is_cause = error.matches(PyExc_Exception);
  nb::object dropped;
  const nb::ft_lock_guard lock(mutex_);
  if (is_cause) {
    causes_.emplace_back(line, std::move(value));
    if (causes_.size() > kMaxCauses) {
      dropped = std::move(causes_.front().second);
      causes_.pop_front();
    }
  } else if (!raised_.is_valid()) {
    raised_ = std::move(value);
  }
  return line;
}

void UserCalls::NoteWaiting() {
  const nb::ft_lock_guard lock(mutex_);
  waits_ = std::this_thread::get_id();
}

bool UserCalls::IsInterrupted() const {
  const nb::ft_lock_guard lock(mutex_);
  return raised_.is_valid() && waits_ == std::this_thread::get_id();
}

void UserCalls::RaiseInterrupt() {
  LeaveIfEnded();
  nb::object raised;
  {
    const nb::ft_lock_guard lock(mutex_);
    raised = std::move(raised_);
  }
  if (!raised.is_valid()) return;
  PyErr_SetObject(raised.type().ptr(), raised.ptr());
  throw nb::python_error();
}

void UserCalls::RaiseWithCause(const Error& error) {
  const std::string text = error.what();
  nb::object cause;
  {
    const nb::ft_lock_guard lock(mutex_);
    // The latest first: an equal line of an earlier failure is not the cause of this one.
    const auto found = std::find_if(causes_.rbegin(), causes_.rend(), [&](const auto& one) {
      return text.find(one.first) != std::string::npos;
    });
    if (found != causes_.rend()) {
      cause = std::move(found->second);
      causes_.erase(std::next(found).base());
    }
  }
  if (!cause.is_valid()) throw error;
  const nb::object raised = ExceptionOf(error);
  PyException_SetCause(raised.ptr(), cause.release().ptr());
  PyErr_SetObject(raised.type().ptr(), raised.ptr());
  throw nb::python_error();
}

}  // namespace sluice::python
