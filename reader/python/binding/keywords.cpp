#include "reader/python/binding/keywords.h"

namespace sluice::python {

std::string Written(nb::handle self, const nb::dict& values, const nb::dict& usual,
                    std::size_t required) {
  std::string text;
  std::size_t at = 0;
  bool by_place = true;  // after a value that is left out, keywords are needed
  for (const auto [key, value] : values) {
    const auto name = nb::cast<std::string>(key);
    const std::string shown = Utf8Of(nb::repr(value));
    if (at++ >= required && shown == Utf8Of(nb::repr(usual[key]))) {
      by_place = false;
      continue;
    }
    // Only required values and `size` go without a keyword, as in CenterCrop(224).
    by_place = by_place && (at <= required || name == "size");
    text += (text.empty() ? "" : ", ") + (by_place ? "" : name + "=") + shown;
  }
  return "sluice." + nb::cast<std::string>(self.type().attr("__name__")) + "(" + text + ")";
}

nb::object Reduced(nb::handle self, const nb::dict& values) {
  const nb::object made = nb::module_::import_("functools").attr("partial")(self.type(), **values);
  return nb::make_tuple(made, nb::tuple());
}

}  // namespace sluice::python
