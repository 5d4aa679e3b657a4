// Classes that are made by keywords, one for each member, with C++'s names and defaults. Each
// member is an attribute, too; a value is shown as one would write it, and it can be pickled.
//
// For options, keywords, docstrings and enumerations are made from their declaration
// (option_list.h): BindOptions() and BindWords(). A keyword whose type in Python differs is made
// where its class is bound, such as by LoaderKeyword() in loader.cpp.
//
// Under free-threaded Python, a thread may set an attribute while another reads the object or
// passes it to a function. So each access to the C++ object is inside a SettableGuard, and
// functions that take such an object get a copy.
#pragma once

#include <cctype>
#include <charconv>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <sluice/convert_option_list.h>
#include <sluice/loader_option_list.h>
#include <sluice/mixture.h>

#include "reader/python/binding/binding.h"

namespace sluice::python {

template <class T, class... Each>
consteval bool IsOneOf(std::type_identity<std::variant<Each...>>) {
  return (std::is_same_v<T, Each> || ...);
}

// The classes whose attributes Python can set: steps, groups of options, and the like.
template <class T>
concept Settable = option_list::HasOptions<T> ||
    IsOneOf<T>(std::type_identity<Transform>()) || IsOneOf<T>(
        std::type_identity<std::variant<Mixture, View, OutputSize, SkippedBatches>>()) ||
    std::is_base_of_v<OrderOptions, T>;

// While the object lives, no other thread reads or writes an object of these classes. All objects
// have one guard, because one may be a part of another (output.boxes). It is a critical section of
// CPython: it cannot deadlock, but Python code that runs inside it may let another thread enter. So
// code inside leaves the object whole before it calls Python. With the GIL, the guard does nothing.
class SettableGuard {
 public:
  SettableGuard() : inside_(Section()) {}

 private:
  static nb::handle Section() {
    static PyObject* const section = PyList_New(0);  // lives as long as the process
    return section;
  }
  nb::ft_object_guard inside_;
};

template <class T>
T Copied(const T& settable) {
  const SettableGuard guard;
  return settable;
}

}  // namespace sluice::python

// Gives a function a copy of a settable object if the function takes it by value. A function that
// takes a reference, as to `self`, uses a SettableGuard.
template <sluice::python::Settable T>
struct nanobind::detail::type_caster<T> : nanobind::detail::type_caster_base<T> {
  template <class As>
  using Cast = std::conditional_t<std::is_same_v<As, T>, T, precise_cast_t<As>>;
  explicit operator T() {
    T& original = static_cast<type_caster_base<T>&>(*this);
    return sluice::python::Copied(original);
  }
};

namespace sluice::python {

// Shows an enumerator as one would write it.
template <class E>
void ShowAsWritten(nb::enum_<E>& bound) {
  bound.def("__repr__", [](nb::handle self) {
    return "sluice." + nb::cast<std::string>(self.type().attr("__qualname__")) + "." +
           nb::cast<std::string>(self.attr("name"));
  });
}

// An enumeration. Functions that take one of its values accept its words, too: "quasi_random" for
// QUASI_RANDOM, and "420" for S420.
template <class E>
class Words : public nb::enum_<E> {
 public:
  Words(nb::handle scope, const char* name, const char* doc = "")
      : nb::enum_<E>(scope, name, nb::is_str(), doc) {
    ShowAsWritten<E>(*this);
  }
  Words& value(const char* name, E value, const char* doc = nullptr) {
    std::string word;
    for (const char* letter = name + (std::isdigit(name[1]) != 0); *letter != 0; ++letter)
      word += static_cast<char>(std::tolower(static_cast<unsigned char>(*letter)));
    nb::enum_<E>::str_value(name, value, word.c_str(), doc);
    return *this;
  }
};

// A declared enumeration: its word "quasi_random" becomes QUASI_RANDOM, and "420" becomes S420.
template <class E>
void BindWords(nb::handle scope) {
  Words<E> bound(scope, option_list::WordsOf<E>.name, option_list::WordsOf<E>.help);
  for (const option_list::Word<E>& word : option_list::WordsOf<E>.words) {
    std::string name = std::isdigit(word.text[0]) != 0 ? "S" : "";
    for (const char* letter = word.text; *letter != 0; ++letter)
      name += static_cast<char>(std::toupper(static_cast<unsigned char>(*letter)));
    bound.value(name.c_str(), word.value, word.help);
  }
}

// A keyword whose value is read from an object, and set in it, by functions.
template <class Get, class Set, bool kRequiredHere = false>
struct Keyword {
  const char* name;
  Get get;  // (object) -> value
  Set set;  // (object, value)
  const char* help = "";
  static constexpr bool kRequired = kRequiredHere;
};

// A keyword that is a member as it stands.
template <class T, class V, bool kRequiredHere = false>
struct MemberKeyword {
  const char* name;
  V T::*member;
  const char* help = "";
  static constexpr bool kRequired = kRequiredHere;
  V get(const T& self) const { return self.*member; }
  void set(T& self, V value) const { self.*member = std::move(value); }
};

template <class T, class V>
MemberKeyword<T, V> Member(const char* name, V T::*member, const char* help = "") {
  return {name, member, help};
}
template <class Get, class Set>
Keyword(const char*, Get, Set) -> Keyword<Get, Set>;
template <class Get, class Set>
Keyword(const char*, Get, Set, const char*) -> Keyword<Get, Set>;

// An option as a keyword.
template <class T, class V>
MemberKeyword<T, V> KeywordOf(const option_list::Option<T, V>& option) {
  return {option.name, option.member, option.help};
}

// Two members, as a pair.
template <class T>
auto Range(const char* name, double T::*low, double T::*high) {
  using Pair = std::pair<double, double>;
  return Keyword{name, [=](const T& self) { return Pair(self.*low, self.*high); },
                 [=](T& self, Pair range) {
                   self.*low = range.first;
                   self.*high = range.second;
                 }};
}

// A list of floats. Python gets the doubles that have the floats' shortest decimal forms: 0.1, not
// 0.10000000149.
template <class T>
auto Floats(const char* name, std::vector<float> T::*member) {
  return Keyword{name,
                 [member](const T& self) {
                   std::vector<double> shown;
                   for (const float value : self.*member) {
                     char text[32];
                     const char* const end = std::to_chars(text, text + sizeof text, value).ptr;
                     std::from_chars(text, end, shown.emplace_back());
                   }
                   return shown;
                 },
                 [member](T& self, const std::vector<double>& values) {
                   self.*member = std::vector<float>(values.begin(), values.end());
                 }};
}

// A keyword without a default.
template <class Get, class Set>
Keyword<Get, Set, true> Required(Keyword<Get, Set> keyword) {
  return {keyword.name, keyword.get, keyword.set, keyword.help};
}

template <class T, class V>
MemberKeyword<T, V, true> Required(MemberKeyword<T, V> keyword) {
  return {keyword.name, keyword.member, keyword.help};
}

template <class T, class K>
using ValueOf = std::decay_t<decltype(std::declval<const K&>().get(std::declval<const T&>()))>;

template <class V>
inline constexpr bool kMayBeNone = std::is_same_v<V, nb::object>;
template <class V>
inline constexpr bool kMayBeNone<std::optional<V>> = true;
template <class V>
inline constexpr bool kMayBeNone<std::shared_ptr<V>> = true;

template <class T, class K>
auto ArgumentOf(const K& keyword, const T& defaults) {
  if constexpr (K::kRequired) {
    return nb::arg(keyword.name);
  } else if constexpr (kMayBeNone<ValueOf<T, K>>) {
    return nb::arg(keyword.name).none() = keyword.get(defaults);
  } else {
    return nb::arg(keyword.name) = keyword.get(defaults);
  }
}

// An object as one would write it: without the values that equal the defaults (`usual`). The first
// `required` values have no default.
std::string Written(nb::handle self, const nb::dict& values, const nb::dict& usual,
                    std::size_t required);
// The value of __reduce__() for an object that its type makes from these keywords.
nb::object Reduced(nb::handle self, const nb::dict& values);

// Makes `==` compare the objects of a class by value: by equal(a, b). They cannot be hashed,
// because they can be changed.
template <class T, class... Base, class F>
void CompareByValue(nb::class_<T, Base...>& bound, F equal) {
  bound.def(
      "__eq__",
      [equal](const T& self, const T& other) {
        return equal(Copied(self), Copied(other));  // Python code may run in it, outside the guard
      },
      nb::is_operator(), nb::sig("def __eq__(self, other: object, /) -> bool"));
  bound.attr("__hash__") = nb::none();
}

// Makes the objects of a class refuse to be pickled, and say why.
template <class T, class... Base>
void RefusePickling(nb::class_<T, Base...>& bound, const char* why) {
  bound.def(
      "__reduce__", [why](nb::handle) { throw nb::type_error(why); },
      nb::sig("def __reduce__(self) -> typing.NoReturn"));
}

// A member that is a class of this module is given by reference, so that its own attributes can be
// set; lists and maps are copies, which sluice/_arguments.py makes read-only.
template <class T, class K>
void AddAttribute(nb::class_<T>& bound, const K& keyword) {
  using Value = ValueOf<T, K>;
  const auto set = [keyword](T& self, Value value) {
    const SettableGuard guard;
    keyword.set(self, std::move(value));
  };
  if constexpr (requires { keyword.member; } &&
                nb::detail::is_base_caster_v<nb::detail::make_caster<Value>>) {
    bound.def_prop_rw(
        keyword.name, [member = keyword.member](T& self) -> Value& { return self.*member; }, set,
        nb::for_getter(nb::rv_policy::reference_internal), keyword.help);
  } else {
    const auto get = [keyword](const T& self) {
      if constexpr (requires { keyword.member; }) {
        const SettableGuard guard;
        return keyword.get(self);
      } else {
        return keyword.get(Copied(self));  // a function may call Python, which opens the guard
      }
    };
    bound.def_prop_rw(keyword.name, get, set, keyword.help);
  }
}

template <class T, class... K>
nb::class_<T>& AddAttributes(nb::class_<T>& bound, const T& defaults, const K&... keywords) {
  (AddAttribute(bound, keywords), ...);
  const auto values_of = [keywords...](const T& self) {
    nb::dict values;
    ((values[keywords.name] = nb::cast(keywords.get(self))), ...);
    return values;
  };
  bound.def("__repr__", [values_of, usual = defaults](nb::handle self) {
    return Written(self, values_of(nb::cast<T>(self)), values_of(usual),
                   (std::size_t{K::kRequired} + ... + 0));
  });
  CompareByValue(bound, [values_of](const T& self, const T& other) {
    return values_of(self).equal(values_of(other));
  });
  bound.def(
      "__reduce__",
      [values_of](nb::handle self) { return Reduced(self, values_of(nb::cast<T>(self))); },
      nb::sig("def __reduce__(self) -> tuple[typing.Any, ...]"));
  return bound;
}

template <class T, class... K>
nb::class_<T>& ByKeywords(nb::class_<T>&& bound, const T& defaults, const K&... keywords) {
  bound.def(
      "__init__",
      [keywords...](T* self, ValueOf<T, K>... values) {
        T made{};
        (keywords.set(made, std::move(values)), ...);
        new (self) T(std::move(made));
      },
      ArgumentOf(keywords, defaults)...);
  return AddAttributes(bound, defaults, keywords...);
}

// The class of a declared struct of options. The first `kRequired` of its keywords have no default.
template <class T, std::size_t kRequired = 0>
nb::class_<T> BindOptions(nb::module_& module, const T& defaults = T()) {
  constexpr auto& kOptions = option_list::OptionsOf<T>.options;
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    [[maybe_unused]] const auto keyword =
        [&]<std::size_t kAt>(std::integral_constant<std::size_t, kAt>) {
          if constexpr (kAt < kRequired)
            return Required(KeywordOf(std::get<kAt>(kOptions)));
          else
            return KeywordOf(std::get<kAt>(kOptions));
        };
    return ByKeywords(
        nb::class_<T>(module, option_list::OptionsOf<T>.name, option_list::OptionsOf<T>.help),
        defaults, keyword(std::integral_constant<std::size_t, I>())...);
  }
  (std::make_index_sequence<std::tuple_size_v<std::remove_cvref_t<decltype(kOptions)>>>());
}

// "\n  quality: JPEG quality, 1 to 100" and so on, for the docstring of a function or class that
// takes these keywords.
template <class... K>
std::string KeywordLines(const K&... keywords) {
  std::string lines;
  ((lines += std::string("\n  ") + keywords.name + ": " + keywords.help), ...);
  return lines;
}

}  // namespace sluice::python
