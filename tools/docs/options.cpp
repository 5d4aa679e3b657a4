// Prints the declared options of the loader, of conversions and their sources, and of transcoding
// as JSON, for the site's page of options. Each of these four is a list of groups; a group inside
// another group follows that group in the list.
#include <iostream>
#include <optional>
#include <string>
#include <type_traits>
#include <variant>

#include <nlohmann/json.hpp>

#include <sluice/convert_option_list.h>
#include <sluice/loader_option_list.h>

using namespace sluice;               // NOLINT: a program of one page
using namespace sluice::option_list;  // NOLINT

namespace {

using Json = nlohmann::ordered_json;

template <class V>
struct Inner {
  using type = V;
};
template <class V>
struct Inner<std::optional<V>> {
  using type = V;
};
template <HasOptions V>
struct Inner<std::vector<V>> {
  using type = V;
};

const char* EffectOf(Changes changes) {
  return changes == Changes::kOrder ? "order" : changes == Changes::kContent ? "content" : "speed";
}

template <HasOptions T>
void AddGroup(Json& groups, const T& usual);

// Adds the group, or each of the groups, that an option contains.
template <class V>
void AddInner(Json& groups, Json& option) {
  if constexpr (HasOptions<V>) {
    option["groups"].push_back(OptionsOf<V>.name);
    AddGroup(groups, V());
  }
}
template <class... V>
void AddVariant(Json& groups, Json& option, const std::variant<V...>*) {
  (AddInner<V>(groups, option), ...);
}

template <class V>
Json ValueOf(const V& usual, const OptionFacts& facts) {
  if constexpr (requires { usual.has_value(); }) {
    return usual ? ValueOf(*usual, facts) : Json();
  } else if constexpr (std::is_same_v<V, bool>) {
    return usual;
  } else if constexpr (HasWords<V>) {
    return WordOf(usual);
  } else if (const std::optional<double> number = NumberIn(usual)) {
    return *number == 0 && facts.zero != nullptr ? facts.zero : NumberText(*number, facts.form);
  } else {
    return nullptr;
  }
}

template <HasOptions T>
void AddGroup(Json& groups, const T& usual) {
  const std::size_t at = groups.size();
  groups.push_back(
      {{"name", OptionsOf<T>.name}, {"help", OptionsOf<T>.help}, {"options", Json::array()}});
  ForEachMember<T>([&](const auto& option) {
    using V = std::remove_cvref_t<decltype(usual.*option.member)>;
    using Value = typename Inner<V>::type;
    const OptionFacts& facts = option.facts;
    Json made = {{"name", option.name},
                 {"help", option.help},
                 {"changes", EffectOf(facts.changes)},
                 {"default", ValueOf(usual.*option.member, facts)}};
    if (NumberIn(Value()) && (facts.least > -1e300 || facts.most < 1e300))
      made["range"] = RangeText(facts);
    if constexpr (HasWords<Value>) {
      for (const auto& word : WordsOf<Value>.words)
        made["words"].push_back({word.text, word.help == nullptr ? "" : word.help});
    }
    std::string flag = facts.flag != nullptr ? facts.flag : "--" + std::string(option.name);
    for (char& letter : flag)
      if (letter == '_') letter = '-';
    made["flag"] = flag;
    if constexpr (requires(Value value) { value.valueless_by_exception(); }) {
      AddVariant(groups, made, static_cast<const Value*>(nullptr));
    } else {
      AddInner<Value>(groups, made);
    }
    groups[at]["options"].push_back(made);
  });
}

}  // namespace

int main() {
  Json all;
  AddGroup(all["loader"] = Json::array(), LoaderOptions());
  AddGroup(all["convert"] = Json::array(), ConvertOptions());
  AddGroup(all["source"] = Json::array(), ConvertSource("."));
  AddGroup(all["transcode"] = Json::array(), TranscodeOptions());
  std::cout << all.dump(1) << "\n";
}
