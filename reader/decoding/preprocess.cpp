// Preprocess makes rows with the objects that make a loader's rows: Geometry finds the part of the
// picture; ViewPainter decodes it, changes its pixels and stores its numbers. It needs neither
// an order, nor a ring of slots, nor shards.
//
// A call borrows a workspace, which is a decoder with all its memory, and gives it back. Rows()
// adds a job, which lies on the caller's stack, to a list. The threads take images of the first job
// in the list; the caller takes images of its own job until none is left. A job leaves the list
// when its last image is taken; the caller then waits for the images that threads have taken.
#include <algorithm>
#include <cstring>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include <sluice/cpu.h>
#include <sluice/preprocess.h>

#include "format/disk/system_error.h"
#include "format/mutex.h"
#include "reader/batch/slot.h"
#include "reader/decoding/picture_painter.h"
#include "reader/decoding/served_pipeline.h"
#include "reader/transform/geometry.h"

namespace sluice {

struct Preprocess::State {
 public:
  // The images of one call of Rows().
  struct RowsJob {
    std::span<const std::span<const std::byte>> files;  // empty if `images` are given
    std::span<const ImagePayload> images;
    std::byte* rows = nullptr;
    std::optional<std::chrono::steady_clock::time_point> deadline;
    // Guarded by mutex_.
    std::size_t next = 0, done = 0;
    std::vector<RowFault> faults;
    bool lost_fault = false;  // too little memory to note a fault

    std::size_t size() const noexcept { return std::max(files.size(), images.size()); }
  };

  State(std::string_view text, PreprocessOptions given)
      : pipeline_(ServedPipeline::Parse(text)),
        options_(std::move(given)),
        geometry_(pipeline_.steps),
        pixels_(pipeline_.steps) {
    pipeline_.RequireFixed();
    pixels_.CheckSize(pipeline_.width, pipeline_.height, pipeline_.channels);
    const std::uint64_t most = std::max(options_.max_pixels, PreprocessOptions().max_pixels);
    if (std::uint64_t{pipeline_.width} * pipeline_.height > most) {
      throw Error(ErrorCode::kLimit, "Preprocess: rows of " + std::to_string(pipeline_.width) +
                                         " x " + std::to_string(pipeline_.height) +
                                         " pixels are larger than " + std::to_string(most) +
                                         " pixels; if that is meant, raise max_pixels");
    }
    shape_.samples = 1;
    shape_.height = pipeline_.height;
    shape_.width = pipeline_.width;
    shape_.channels = pipeline_.channels;
    shape_.layout = pipeline_.layout;
    if (pixels_.output()) shape_.type = ElementTypeOf(*pixels_.output());
  }
  ~State() {
    {
      const MutexLock lock(mutex_);
      ending_ = true;
    }
    work_.NotifyAll();
    for (std::thread& thread : threads_)
      thread.join();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  const ServedPipeline& pipeline() const noexcept { return pipeline_; }
  const ImageBatch& shape() const noexcept { return shape_; }

  // Makes a row in the calling thread.
  void Make(const ImagePayload* image, Bytes file, std::span<std::byte> row) {
    if (row.size() != shape_.sample_bytes()) RefuseSize(row.size(), 1);
    RequireFileReader(image == nullptr);
    std::unique_ptr<Workspace> workspace = Borrow();
    const std::optional<Error> error = Try(*workspace, image, file, row.data());
    Return(std::move(workspace));
    if (error) throw *error;
  }

  // Makes the rows of all images of the job, with the help of the threads. Returns why rows could
  // not be made. No image is begun later than `within` after the call.
  std::vector<RowFault> MakeAll(RowsJob& job, std::span<std::byte> rows,
                                std::optional<std::chrono::microseconds> within) {
    if (rows.size() != job.size() * shape_.sample_bytes()) RefuseSize(rows.size(), job.size());
    RequireFileReader(!job.files.empty());
    if (job.size() == 0) return {};
    job.rows = rows.data();
    constexpr std::chrono::microseconds kYear = std::chrono::hours(24 * 365);
    if (within) job.deadline = std::chrono::steady_clock::now() + std::min(*within, kYear);
    std::unique_ptr<Workspace> workspace = Borrow();
    const MutexLock lock(mutex_);
    if (job.size() > 1) {
      StartThreads();
      jobs_.push_back(&job);
      work_.NotifyAll();
    }
    while (job.next < job.size())
      TakeOne(job, *workspace);
    while (job.done < job.size())
      done_.Wait(mutex_);
    idle_.push_back(std::move(workspace));
    if (job.lost_fault) throw OutOfMemory();
    std::ranges::sort(job.faults, {}, &RowFault::row);
    return std::move(job.faults);
  }

 private:
  struct Workspace {
    PayloadDecoder decoder;
    ViewPainter view_painter;
    ImageReader read_file;
  };

  [[noreturn]] void RefuseSize(std::size_t has, std::size_t rows) const {
    throw Error(ErrorCode::kInvalidArgument, "Preprocess: " + std::to_string(rows) +
                                                 (rows == 1 ? " row takes " : " rows take ") +
                                                 std::to_string(rows * shape_.sample_bytes()) +
                                                 " bytes, and there is room for " +
                                                 std::to_string(has));
  }
  // Throws if a file is given, but no function that reads image files.
  void RequireFileReader(bool has_file) const {
    if (!has_file || options_.image_files) return;
    throw Error(ErrorCode::kState,
                "Preprocess: PreprocessOptions::image_files is empty, so only stored and decoded "
                "images can be served; set it to sluice::ImageFileReader (<sluice/image_file.h>)");
  }

  std::unique_ptr<Workspace> Borrow() {
    {
      const MutexLock lock(mutex_);
      if (!idle_.empty()) {
        std::unique_ptr<Workspace> workspace = std::move(idle_.back());
        idle_.pop_back();
        return workspace;
      }
    }
    auto workspace = std::make_unique<Workspace>();
    if (options_.image_files)
      workspace->read_file =
          options_.image_files(pipeline_.channels == 1 ? 1 : 3, options_.max_pixels);
    return workspace;
  }
  void Return(std::unique_ptr<Workspace> workspace) {
    const MutexLock lock(mutex_);
    idle_.push_back(std::move(workspace));
  }

  // Starts the threads, if they have not been started. If the system allows fewer than wanted,
  // calls are only slower.
  void StartThreads() REQUIRES(mutex_) {
    if (started_) return;
    started_ = true;
    const unsigned wanted = options_.threads != 0 ? options_.threads : AvailableCpus();
    try {
      while (threads_.size() + 1 < wanted)
        threads_.emplace_back([this] { Run(); });
    } catch (const std::system_error&) {
    }
  }
  void Run() {
    std::unique_ptr<Workspace> workspace;
    try {
      workspace = Borrow();
    } catch (const std::exception&) {
      return;  // the callers do the work, and get the error
    }
    const MutexLock lock(mutex_);
    while (!ending_) {
      if (jobs_.empty()) {
        work_.Wait(mutex_);
      } else {
        TakeOne(*jobs_.front(), *workspace);
      }
    }
  }
  // Takes the job's next image, and makes its row with the mutex unlocked.
  void TakeOne(RowsJob& job, Workspace& workspace) REQUIRES(mutex_) {
    const std::size_t row = job.next++;
    if (job.next == job.size()) std::erase(jobs_, &job);
    std::optional<Error> error;
    bool late = false;
    {
      const MutexUnlock unlocked(mutex_);
      std::byte* const target = job.rows + row * shape_.sample_bytes();
      late = job.deadline && std::chrono::steady_clock::now() >= *job.deadline;
      if (late) {
        error = late_;
      } else if (job.files.empty()) {
        error = Try(workspace, &job.images[row], {}, target);
      } else {
        error = Try(workspace, nullptr, job.files[row], target);
      }
      if (error) std::memset(target, 0, shape_.sample_bytes());
    }
    try {
      if (error) job.faults.push_back({row, late, *std::move(error)});
    } catch (const std::bad_alloc&) {
      job.lost_fault = true;
    }
    if (++job.done == job.size()) done_.NotifyAll();
  }

  // Makes the row of `image`, or of `file` if `image` is null. Returns why it cannot be made.
  std::optional<Error> Try(Workspace& workspace, const ImagePayload* image, Bytes file,
                           std::byte* row) const {
    try {
      return image != nullptr ? Paint(workspace, *image, row)
                              : Paint(workspace, workspace.read_file(file), row);
    } catch (const Error& error) {
      return error;
    } catch (const std::bad_alloc&) {
      return OutOfMemory();
    } catch (const std::exception& error) {  // of a caller's own PreprocessOptions::image_files
      return Error(ErrorCode::kUnsupported, error.what());
    }
  }
  std::optional<Error> Paint(Workspace& workspace, const ImagePayload& image,
                             std::byte* row) const {
    if (const Defect defect = CheckStored(image)) return Error(ErrorCode::kCorrupt, defect);
    if (image.codec == Codec::kAbsent || image.width == 0 || image.height == 0)
      return Error(ErrorCode::kCorrupt, "the image has no pixels");
    const auto size = [](std::uint64_t width, std::uint64_t height) {
      return std::to_string(width) + "x" + std::to_string(height);
    };
    if (std::uint64_t{image.width} * image.height > options_.max_pixels) {
      return Error(ErrorCode::kLimit, "the image has " + size(image.width, image.height) +
                                          " pixels, more than the " +
                                          std::to_string(options_.max_pixels) + " of max_pixels");
    }
    if (IsWide(image.pixel_type, image.channels)) {
      return Error(ErrorCode::kUnsupported,
                   "the image is not an 8-bit picture of up to four channels; convert it to one");
    }
    const Frame frame = geometry_.FrameFor(image.width, image.height, 0, 0);
    if (frame.width() != pipeline_.width || frame.height() != pipeline_.height) {
      return Error(ErrorCode::kInvalidArgument,
                   "the image has " + size(image.width, image.height) +
                       " pixels, and the pipeline, which does not resize, is for images of " +
                       size(pipeline_.width, pipeline_.height));
    }
    const auto decode = [&](const Region& region, const PixelTarget& target) {
      return workspace.decoder.Decode(image, region, target);
    };
    const PixelTarget target{reinterpret_cast<std::uint8_t*>(row), pipeline_.channels,
                             OrderOf(shape_)};
    if (const Defect defect = workspace.view_painter.Paint(decode, frame, pixels_, {}, target))
      return Error(ErrorCode::kCorrupt, defect);
    return std::nullopt;
  }

  const Error late_{ErrorCode::kState, "the deadline came before this image's turn"};
  const ServedPipeline pipeline_;
  const PreprocessOptions options_;
  const Geometry geometry_;
  const PixelProgram pixels_;
  ImageBatch shape_;  // of one row
  Mutex mutex_;
  Condition work_;  // a job was added, or the threads must end
  Condition done_;  // a job's last row is there
  std::vector<std::unique_ptr<Workspace>> idle_ GUARDED_BY(mutex_);
  std::vector<RowsJob*> jobs_ GUARDED_BY(mutex_);  // those with images that nobody has taken
  bool started_ GUARDED_BY(mutex_) = false;
  bool ending_ GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;  // made under the mutex, joined when nobody calls any more
};

Preprocess::Preprocess(std::string_view pipeline, PreprocessOptions options)
    : state_(std::make_unique<State>(pipeline, std::move(options))) {}
Preprocess::~Preprocess() = default;
Preprocess::Preprocess(Preprocess&&) noexcept = default;
Preprocess& Preprocess::operator=(Preprocess&&) noexcept = default;

ImageBatch Preprocess::shape(std::size_t samples) const noexcept {
  ImageBatch shape = state_->shape();
  shape.samples = samples;
  return shape;
}
std::size_t Preprocess::row_bytes() const noexcept {
  return state_->shape().sample_bytes();
}
std::string Preprocess::PipelineText() const {
  return state_->pipeline().Text();
}
const std::vector<std::string>& Preprocess::classes() const noexcept {
  return state_->pipeline().classes;
}

void Preprocess::Row(std::span<const std::byte> file, std::span<std::byte> row) const {
  state_->Make(nullptr, file, row);
}
void Preprocess::Row(const ImagePayload& image, std::span<std::byte> row) const {
  state_->Make(&image, {}, row);
}

std::vector<RowFault> Preprocess::Rows(std::span<const std::span<const std::byte>> files,
                                       std::span<std::byte> rows,
                                       std::optional<std::chrono::microseconds> within) const {
  State::RowsJob job;
  job.files = files;
  return state_->MakeAll(job, rows, within);
}
std::vector<RowFault> Preprocess::Rows(std::span<const ImagePayload> images,
                                       std::span<std::byte> rows,
                                       std::optional<std::chrono::microseconds> within) const {
  State::RowsJob job;
  job.images = images;
  return state_->MakeAll(job, rows, within);
}

}  // namespace sluice
