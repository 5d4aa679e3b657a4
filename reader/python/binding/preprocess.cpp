// Preprocess: rows for a server. A file is anything with a buffer of bytes; a decoded image is an
// array of height x width [x channels].
//
// Pixels are not copied: an ImagePayload points into the Python object's memory, which the Buffer
// keeps alive until the rows are made. Rows are made without the GIL, in memory that was allocated
// before, and the numpy array over that memory owns it through a capsule. A row's memory is not
// cleared before: the C++ class writes every byte of a row, also of one that could not be made.
#include <cctype>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include <sluice/image_file.h>
#include <sluice/preprocess.h>

#include "reader/python/binding/keywords.h"

namespace sluice::python {

namespace {

using Buffer = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

// An array's shape and type, for a message: "3 x 8 x 8 of float32".
std::string ShapeText(const Buffer& array) {
  std::string text;
  for (std::size_t i = 0; i < array.ndim(); ++i)
    text += (i == 0 ? "" : " x ") + std::to_string(array.shape(i));
  using Code = nb::dlpack::dtype_code;
  const auto code = static_cast<Code>(array.dtype().code);
  if (code == Code::Bool) return text + " of bool";
  return text + " of " +
         (code == Code::Int     ? "int"
          : code == Code::UInt  ? "uint"
          : code == Code::Float ? "float"
                                : "another type with ") +
         std::to_string(array.dtype().bits);
}

// The buffer of the bytes of a file, or of an array. Throws TypeError with what to give instead.
Buffer BufferOf(nb::handle given) {
  Buffer buffer;
  if (nb::try_cast(given, buffer)) return buffer;
  // The usual mistakes are recognised by what they have in common with their type, so that neither
  // Pillow nor torch has to be imported.
  std::string cure;
  if (nb::isinstance<nb::str>(given) || nb::hasattr(given, "__fspath__")) {
    cure = "; of a file, give its bytes: open(path, \"rb\").read()";
  } else if (nb::hasattr(given, "read")) {
    cure = "; of an open file, give its bytes: file.read(), or getvalue() of a BytesIO";
  } else if (nb::hasattr(given, "getexif")) {
    cure =
        "; of an image of Pillow, give numpy.asarray(image.convert(\"RGB\")), after "
        "PIL.ImageOps.exif_transpose(image) if it may be turned";
  } else if (nb::hasattr(given, "numpy")) {
    cure = "; of a tensor, give tensor.cpu().contiguous().numpy()";
  }
  std::string shown = Utf8Of(nb::repr(given));
  if (shown.size() > 200) shown = shown.substr(0, 200) + "...";
  throw nb::type_error(
      ("an image is the bytes of a file, or an array of uint8 of height x width or "
       "height x width x channels, in one piece of host memory, not " +
       shown + cure)
          .c_str());
}

// The bytes of a file (Codec::kAbsent), or the image that an array holds.
ImagePayload GivenImage(const Buffer& given, std::size_t row_channels) {
  ImagePayload image;
  image.bytes = {reinterpret_cast<const std::byte*>(given.data()), given.nbytes()};
  const bool bytes = given.dtype() == nb::dtype<std::uint8_t>();
  if (bytes && given.ndim() == 1) return image;
  const std::size_t channels = given.ndim() == 3 ? given.shape(2) : 1;
  if (!bytes || given.ndim() < 2 || given.ndim() > 3 || given.shape(0) > 65535 ||
      given.shape(1) > 65535 || channels > 4) {
    throw Error(ErrorCode::kInvalidArgument,
                "an image is the bytes of a file, or an array of uint8 of height x width or height "
                "x width x channels, with at most 65535 pixels a side and 4 channels, not " +
                    ShapeText(given));
  }
  if (channels != row_channels && channels != 1 && channels != 3) {
    throw Error(ErrorCode::kInvalidArgument,
                "the array has " + std::to_string(channels) +
                    " channels, and the pipeline's rows " + std::to_string(row_channels) +
                    "; give 1 or 3, such as image[..., :3] of an image with opacity");
  }
  image.codec = Codec::kRaw;
  image.height = static_cast<std::uint32_t>(given.shape(0));
  image.width = static_cast<std::uint32_t>(given.shape(1));
  image.channels = static_cast<std::uint8_t>(channels);
  return image;
}

// Keeps the first warning of a Preprocess's threads, until it is given to Python.
class FirstWarning {
 public:
  void Note(const std::string& sentence) {
    const std::lock_guard lock(mutex_);
    if (!given_ && sentence_.empty()) sentence_ = sentence;
  }
  void Give() {
    std::string sentence;
    {
      const std::lock_guard lock(mutex_);
      given_ = given_ || !sentence_.empty();
      sentence = std::exchange(sentence_, {});
    }
    if (!sentence.empty()) IssueWarning(sentence, 1);
  }

 private:
  std::mutex mutex_;  // no Python code runs while it is locked
  std::string sentence_;
  bool given_ = false;
};

struct PyPreprocess {
  Owned<Preprocess> made;
  std::shared_ptr<FirstWarning> warning;

  // Memory for rows, and the array over it.
  struct Rows {
    std::span<std::byte> memory;
    nb::object array;
  };
  Rows NewRows(std::size_t count) const {
    ImageBatch shape = made->shape(count);
    const std::size_t bytes = count * made->row_bytes();
    auto* const memory = new std::byte[std::max<std::size_t>(bytes, 1)];
    const nb::capsule owner(memory,
                            [](void* at) noexcept { delete[] static_cast<std::byte*>(at); });
    shape.data = reinterpret_cast<const std::uint8_t*>(memory);
    return {{memory, bytes}, ArrayOver(shape, owner, true)};
  }

  nb::object Row(nb::handle of) const {
    const Buffer given = BufferOf(of);
    const ImagePayload image = GivenImage(given, made->shape().channels);
    const Rows rows = NewRows(1);
    WithoutGil([&] {
      if (image.codec == Codec::kAbsent) {
        made->Row(image.bytes, rows.memory);
      } else {
        made->Row(image, rows.memory);
      }
    });
    warning->Give();
    return rows.array[nb::int_(0)];
  }

  nb::tuple All(nb::handle sequence, std::optional<double> within) const {
    if (nb::isinstance<nb::str>(sequence) || nb::isinstance<nb::bytes>(sequence) ||
        !nb::isinstance<nb::iterable>(sequence)) {
      throw nb::type_error("rows() takes a list of images; for one image, call the Preprocess");
    }
    std::vector<Buffer> given;
    // All buffers are taken first: `images` and `files` point into them.
    for (const nb::handle one : nb::iter(sequence))
      given.push_back(BufferOf(one));
    std::vector<ImagePayload> images;
    std::vector<std::span<const std::byte>> files;
    for (const Buffer& one : given) {
      const ImagePayload image = GivenImage(one, made->shape().channels);
      if (image.codec == Codec::kAbsent) {
        files.push_back(image.bytes);
      } else {
        images.push_back(image);
      }
    }
    if (!files.empty() && !images.empty()) {
      throw Error(ErrorCode::kInvalidArgument,
                  "rows() takes files or arrays, not both in one call");
    }
    std::optional<std::chrono::microseconds> most;
    if (within) {
      if (!(*within >= 0 && *within <= 1e9))
        throw Error(ErrorCode::kInvalidArgument, "within is a number of seconds, or None");
      most = std::chrono::ceil<std::chrono::microseconds>(std::chrono::duration<double>(*within));
    }
    const Rows rows = NewRows(given.size());
    std::vector<RowFault> faults = WithoutGil([&] {
      return images.empty() ? made->Rows(files, rows.memory, most)
                            : made->Rows(images, rows.memory, most);
    });
    warning->Give();
    return nb::make_tuple(rows.array, std::move(faults));
  }
};

}  // namespace

void BindPreprocess(nb::module_& module) {
  nb::class_<RowFault>(module, "RowFault", "Why a row of Preprocess.rows() could not be made")
      .def_ro("row", &RowFault::row)
      .def_ro("late", &RowFault::late)
      .def_prop_ro("error", [](const RowFault& fault) { return ExceptionOf(fault.error); })
      .def("__repr__", [](const RowFault& fault) {
        return "RowFault(row " + std::to_string(fault.row) + ": " +
               InPythonsWords(fault.error.what()) + ")";
      });
  nb::class_<PyPreprocess> bound(
      module, "Preprocess",
      "Makes the rows of a Loader for a server: preprocess(file) returns the row of an image file "
      "of any kind that convert() reads, or of an array of uint8. Given the bytes of a "
      "dataset's stored image, it returns exactly the Loader's row.\n\n"
      "pipeline: the text of Loader.pipeline(), or steps such as 'short:256,center:224,normalize'; "
      "threads: how many rows() uses (None: one for each CPU); max_pixels: a larger image is "
      "refused. The first image of more than 8 bits that uses only a small part of "
      "their range gives a ConvertWarning.");
  RefusePickling(bound,
                 "a Preprocess has threads and cannot be pickled or copied; make it in the process "
                 "that uses it, from the text that pipeline holds");
  bound
      .def(
          "__init__",
          [](PyPreprocess* self, const std::string& pipeline, std::optional<std::uint32_t> threads,
             std::uint64_t max_pixels) {
            // "photo.jpg", but not "jitter:0.4".
            const std::string ending = std::filesystem::path(pipeline).extension().string();
            if (ending.size() > 1 && std::isalpha(static_cast<unsigned char>(ending[1])) != 0 &&
                ending != ".json") {
              throw Error(
                  ErrorCode::kInvalidArgument,
                  "Preprocess takes a pipeline, such as \"short:256,center:224\", and \"" +
                      pipeline +
                      "\" seems to be a picture's file; make the Preprocess of a pipeline, "
                      "and call it with the picture: preprocess(open(path, \"rb\").read())");
            }
            if (pipeline.ends_with(".json")) {
              throw Error(ErrorCode::kInvalidArgument,
                          "Preprocess takes the text of a pipeline, and \"" + pipeline +
                              "\" seems to be a file; give open(path).read()");
            }
            const auto warning = std::make_shared<FirstWarning>();
            PreprocessOptions options{.threads = threads.value_or(0), .max_pixels = max_pixels};
            options.image_files = WarningImageFileReader(
                [warning](const std::string& sentence) { warning->Note(sentence); });
            new (self)
                PyPreprocess{Owned<Preprocess>(Preprocess(pipeline, std::move(options))), warning};
          },
          "pipeline"_a, nb::kw_only(), "threads"_a = nb::none(),
          "max_pixels"_a = PreprocessOptions().max_pixels)
      .def("__call__", &PyPreprocess::Row, "image"_a.none(),
           nb::sig("def __call__(self, image: object) -> object"),
           "The row of an image, as a numpy array of height x width x channels (or channels first, "
           "as the pipeline says). An image that cannot be read raises an Error")
      .def("rows", &PyPreprocess::All, "images"_a.none(), "within"_a = nb::none(),
           nb::sig("def rows(self, images: collections.abc.Sequence[object], within: float | None "
                   "= None) -> tuple[typing.Any, list[RowFault]]"),
           "(rows, faults): the rows of several files or several arrays, made by threads, as one "
           "array; rows that could not be made are zeros. No image is begun later than `within` "
           "seconds after the call")
      .def_prop_ro(
          "pipeline", [](const PyPreprocess& self) { return self.made->PipelineText(); },
          "The pipeline, as Loader.pipeline() writes it")
      .def_prop_ro(
          "classes", [](const PyPreprocess& self) { return self.made->classes(); },
          "The names of the classes, by number, which Loader.pipeline() wrote; empty if the "
          "pipeline has none")
      .def_prop_ro(
          "shape",
          [](const PyPreprocess& self) {
            const ImageBatch row = self.made->shape();
            const bool planes = row.layout == Layout::kNCHW;
            return ShapeTuple(planes ? nb::make_tuple(row.channels, row.height, row.width)
                                     : nb::make_tuple(row.height, row.width, row.channels));
          },
          "The shape of a row")
      .def_prop_ro(
          "dtype", [](const PyPreprocess& self) { return NameOf(self.made->shape().type); },
          "The type of a row's values, such as 'float32'")
      .def("__repr__", [](const PyPreprocess& self) {
        return "Preprocess('" + self.made->PipelineText() + "')";
      });
}

}  // namespace sluice::python
