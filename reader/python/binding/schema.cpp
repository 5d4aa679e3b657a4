// Field, the schema's element, and arrays of numpy over Sluice's memory. Such an array copies
// nothing and keeps its owner alive. Every array is made writable; one that Python may only read
// then gets numpy's flag. numpy does not have bfloat16, so an array of it is refused, with advice.
// ValueNamed() finds the end of an enumeration by NameOf(), which is empty beyond the last
// enumerator.
#include <array>
#include <charconv>
#include <cmath>

#include "reader/python/binding/binding.h"

namespace sluice::python {

namespace {

nb::dlpack::dtype TypeOf(DType type) {
  return WithType(type, [](auto value) { return nb::dtype<decltype(value)>(); });
}

constexpr nb::dlpack::dtype kHalf = {static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float), 16,
                                     1};

nb::dlpack::dtype TypeOf(ElementType type, std::string_view what) {
  switch (type) {
    case ElementType::kUint8: return nb::dtype<std::uint8_t>();
    case ElementType::kUint16: return nb::dtype<std::uint16_t>();
    case ElementType::kInt16: return nb::dtype<std::int16_t>();
    case ElementType::kFloat32: return nb::dtype<float>();
    case ElementType::kFloat16: return kHalf;
    case ElementType::kBFloat16: break;
  }
  throw Error(ErrorCode::kUnsupported,
              std::string(what) +
                  " holds bfloat16, which numpy does not know; take it as a tensor "
                  "of torch or jax, or let Normalize make float32");
}

nb::object OwnedArray(const void* data, nb::dlpack::dtype type,
                      const std::vector<std::size_t>& shape, nb::handle owner, bool writable) {
  nb::ndarray<nb::numpy> array(const_cast<void*>(data), shape.size(), shape.data(), owner, nullptr,
                               type);
  nb::object made = array.cast(nb::rv_policy::reference);
  if (!writable) made.attr("flags").attr("writeable") = false;
  return made;
}

std::string ReprOfField(const Field& field) {
  std::string text = "Field('" + field.name + "', " + std::string(NameOf(field.kind));
  const bool variable = field.kind == FieldKind::kVariable;
  if (field.kind == FieldKind::kArray || variable) text += ' ' + std::string(NameOf(field.dtype));
  if (variable || !field.shape.empty()) {
    text += variable ? "[n" : "[";
    for (std::size_t i = 0; i < field.shape.size(); ++i)
      text += (i > 0 || variable ? ", " : "") + std::to_string(field.shape[i]);
    text += ']';
  }
  if (field.role != Role::kNone && NameOf(field.role) != NameOf(field.kind)) {
    text += ", role " + std::string(NameOf(field.role));
  }
  if (!field.classes.empty()) text += ", " + std::to_string(field.classes.size()) + " classes";
  if (!field.follows.empty()) text += ", follows '" + field.follows + "'";
  return text + ")";
}

Field ImageField(std::string name, std::string follows, const std::vector<std::string>& channels,
                 std::optional<double> no_data) {
  Field field = Field::Image(std::move(name));
  field.follows = std::move(follows);
  std::string names;
  for (const std::string& channel : channels) {
    if (channel.find(',') != std::string::npos) {
      throw Error(ErrorCode::kInvalidArgument,
                  "a channel's name has no comma; \"" + channel + "\" has one");
    }
    names += (names.empty() ? "" : ",") + channel;
  }
  if (!channels.empty()) field.attributes["channels"] = names;
  if (no_data) {
    std::array<char, 32> text;
    const auto end = std::to_chars(text.data(), text.data() + text.size(), *no_data).ptr;
    field.attributes["no_data"] = std::isnan(*no_data) ? "nan" : std::string(text.data(), end);
  }
  return field;
}

// The DType or the Role of that name.
template <class Enum>
Enum ValueNamed(std::string_view name) {
  const std::string what = std::is_same_v<Enum, Role> ? "role" : "element type";
  std::string known;
  for (std::uint8_t i = 0; !NameOf(static_cast<Enum>(i)).empty(); ++i) {
    const std::string_view one = NameOf(static_cast<Enum>(i));
    if (one == name) return static_cast<Enum>(i);
    known += (known.empty() ? "" : ", ") + std::string(one);
  }
  throw Error(ErrorCode::kInvalidArgument,
              "unknown " + what + " \"" + std::string(name) + "\"; the known ones are " + known);
}

Field WithRole(Field field, const std::string& role, std::string follows, std::string coordinates) {
  field.role = ValueNamed<Role>(role);
  field.follows = std::move(follows);
  field.coordinates = std::move(coordinates);
  return field;
}

}  // namespace

nb::object ArrayOver(const void* data, DType type, std::vector<std::size_t> shape, nb::handle owner,
                     bool writable) {
  return OwnedArray(data, TypeOf(type), shape, owner, writable);
}

nb::object ArrayOver(const void* data, PixelType type, std::vector<std::size_t> shape,
                     nb::handle owner, bool writable) {
  return OwnedArray(data, NumpyTypeOf(type), shape, owner, writable);
}

nb::dlpack::dtype NumpyTypeOf(PixelType type) {
  switch (type) {
    case PixelType::kUint8: return nb::dtype<std::uint8_t>();
    case PixelType::kUint16: return nb::dtype<std::uint16_t>();
    case PixelType::kInt16: return nb::dtype<std::int16_t>();
    case PixelType::kFloat16: return kHalf;
    case PixelType::kFloat32: break;
  }
  return nb::dtype<float>();
}

nb::object ArrayOver(const ImageBatch& image, nb::handle owner, bool writable) {
  std::vector<std::size_t> shape = {image.samples, image.height, image.width, image.channels};
  if (image.layout == Layout::kNCHW) {
    shape = {image.samples, image.channels, image.height, image.width};
  }
  return OwnedArray(image.data, TypeOf(image.type, "the image"), shape, owner, writable);
}

void BindSchema(nb::module_& module) {
  nb::class_<Field>(module, "Field",
                    "A named, typed field of a dataset's samples: made by Field.image(), "
                    "Field.label() and so on.")
      .def_ro("name", &Field::name)
      .def_prop_ro(
          "kind", [](const Field& field) { return NameOf(field.kind); },
          "'image', 'bytes', 'array' (of fixed shape) or 'variable' (any number of entries)")
      .def_prop_ro(
          "dtype", [](const Field& field) { return NameOf(field.dtype); },
          "Element type of arrays: 'int8' to 'float64'")
      .def_prop_ro(
          "shape", [](const Field& field) { return ShapeTuple(nb::tuple(nb::cast(field.shape))); },
          "The shape of an array, or of one entry of a variable field")
      .def_prop_ro("role", [](const Field& field) { return NameOf(field.role); })
      .def_ro("follows", &Field::follows, "The image that a mask, boxes or key points belong to")
      .def_ro("coordinates", &Field::coordinates,
              "Convention of boxes or key points, such as 'xyxy-pixels'")
      .def_ro("classes", &Field::classes, "Class names, by number")
      .def_ro("attributes", &Field::attributes,
              "Anything else worth keeping, such as the names of an image's channels")
      .def_static(
          "image", &ImageField, "name"_a = "image", "follows"_a = "",
          "channels"_a = std::vector<std::string>(), "no_data"_a = nb::none(),
          "Pictures. follows: the image whose crops and flips they go through, such as that "
          "of a depth map. channels: a name for each channel, for OutputOptions.bands. "
          "no_data: the number that stands for no data, which never mixes with values")
      .def_static("mask", &Field::Mask, "name"_a, "follows"_a = "image",
                  "An image of class numbers that goes through its image's geometric steps")
      .def_static("label", &Field::Label, "name"_a = "label",
                  "classes"_a = std::vector<std::string>(), "An int32 number of a class")
      .def_static(
          "array",
          [](std::string name, const std::string& dtype, std::vector<std::uint32_t> shape,
             const std::string& role) {
            return WithRole(
                Field::Array(std::move(name), ValueNamed<DType>(dtype), std::move(shape)), role, {},
                {});
          },
          "name"_a, "dtype"_a, "shape"_a = std::vector<std::uint32_t>(), "role"_a = "none",
          "An array of the same shape in each sample; a shape of () is one number")
      .def_static(
          "variable",
          [](std::string name, const std::string& dtype, std::vector<std::uint32_t> entry,
             const std::string& role, std::string follows, std::string coordinates) {
            return WithRole(
                Field::Variable(std::move(name), ValueNamed<DType>(dtype), std::move(entry)), role,
                std::move(follows), std::move(coordinates));
          },
          "name"_a, "dtype"_a, "shape"_a = std::vector<std::uint32_t>(), "role"_a = "none",
          "follows"_a = "", "coordinates"_a = "",
          "Any number of entries of this shape, such as boxes: variable('boxes', 'float32', (4,), "
          "'boxes', 'image', 'xyxy-pixels')")
      .def_static(
          "bytes",
          [](std::string name, const std::string& role, std::string follows) {
            return WithRole(Field::Bytes(std::move(name)), role, std::move(follows), {});
          },
          "name"_a, "role"_a = "none", "follows"_a = "",
          "Bytes of any length; of role 'text' or 'json': UTF-8; of role 'instances': the outlines "
          "or runs of the objects of the boxes that follow the same image")
      .def(
          "__eq__",
          [](const Field& field, nb::handle other) {
            return nb::isinstance<Field>(other) && field == nb::cast<const Field&>(other);
          },
          nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__",
           [](const Field& field) { return std::hash<std::string>()(ReprOfField(field)); })
      .def("__repr__", &ReprOfField);
}

}  // namespace sluice::python
