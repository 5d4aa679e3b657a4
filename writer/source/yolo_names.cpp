#include "writer/source/yolo_names.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include <sluice/error.h>

#include "format/disk/bytes.h"
#include "format/disk/file.h"
#include "writer/source/annotations.h"
#include "writer/text.h"

namespace sluice {

namespace {

std::string_view Stripped(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
}

// A scalar without its quotes or the comment behind it.
std::string Scalar(std::string_view text) {
  text = Stripped(text);
  if (!text.empty() && (text[0] == '"' || text[0] == '\'')) {
    const std::size_t end = text.find(text[0], 1);
    return std::string(text.substr(1, end == std::string_view::npos ? end : end - 1));
  }
  return std::string(Stripped(text.substr(0, text.find(" #"))));
}

std::vector<std::string_view> LinesOf(std::string_view text) {
  if (text.starts_with(kUtf8Mark)) text.remove_prefix(kUtf8Mark.size());
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// The pieces of "[a, 'b, c']" or "{0: a}" between its commas.
std::vector<std::string_view> Pieces(std::string_view text) {
  std::vector<std::string_view> pieces;
  char quote = 0;
  bool fresh = true;  // a quote would begin a text here, and is no apostrophe
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (i < text.size() && quote != 0) {
      if (c == '\\' && quote == '"') ++i;
      if (c == quote) quote = 0;
      continue;
    }
    if (fresh && (c == '"' || c == '\'')) quote = c;
    fresh = c == ',' || c == ':' || (fresh && (c == ' ' || c == '\t'));
    if (c == ',') {
      if (!Stripped(text.substr(begin, i - begin)).empty()) {
        pieces.push_back(text.substr(begin, i - begin));
      }
      begin = i + 1;
    }
  }
  return pieces;
}

std::optional<std::size_t> NumberOf(std::string_view text) {
  text = Stripped(text);
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

class YamlNames {
 public:
  void Add(std::string_view name) { Put(next_++, NameIn(name)); }
  void AddNumbered(std::string_view entry) {
    const std::size_t colon = std::min(entry.find(':'), entry.size());
    const std::optional<std::size_t> number = NumberOf(Scalar(entry.substr(0, colon)));
    if (!number || colon == entry.size())
      Fail("\"" + ToUtf8(Stripped(entry)) + "\" is no NUMBER: NAME");
    Put(*number, NameIn(entry.substr(colon + 1)));
  }
  [[noreturn]] static void Refuse(std::string_view value) {
    Fail("\"" + ToUtf8(value) + "\" is no list of names");
  }
  std::vector<std::string> Finish() {
    std::vector<std::string> names;
    for (auto& [number, name] : names_) {
      if (number != names.size()) Fail("class " + std::to_string(names.size()) + " has no name");
      names.push_back(std::move(name));
    }
    return names;
  }

 private:
  [[noreturn]] static void Fail(const std::string& sentence) {
    throw Error(ErrorCode::kCorrupt, "the names of classes are not understood: " + sentence +
                                         "; give them with --classes, one a line");
  }
  // What of YAML is not read is no name, and no part of one.
  static std::string NameIn(std::string_view text) {
    text = Stripped(text);
    const std::string shown = "\"" + ToUtf8(text) + "\"";
    if (text.empty() || std::string_view("\"'").find(text[0]) == std::string_view::npos) {
      const bool special =
          !text.empty() && std::string_view("&*!|>%@`").find(text[0]) != std::string_view::npos;
      if (special) Fail(shown + " is no plain name");
      return Scalar(text);
    }
    std::string name;
    for (std::size_t i = 1; i < text.size(); ++i) {
      const char next = i + 1 < text.size() ? text[i + 1] : '\0';
      if (text[0] == '\'' && text[i] == '\'' && next == '\'') {
        ++i;
      } else if (text[0] == '"' && text[i] == '\\') {
        if (next != '"' && next != '\\') Fail(shown + " has an escape");
        ++i;
      } else if (text[i] == text[0]) {
        const std::string_view rest = Stripped(text.substr(i + 1));
        if (!rest.empty() && rest[0] != '#') Fail(shown + " goes on after its end");
        return name;
      }
      name += text[i];
    }
    Fail(shown + " has no end");
  }
  void Put(std::size_t number, std::string name) {
    if (number >= kMostYoloClasses) Fail("there are more than 65536");
    names_[number] = ToUtf8(name);
  }
  std::map<std::size_t, std::string> names_;
  std::size_t next_ = 0;
};

}  // namespace

YoloNames ParseYoloYaml(std::string_view text) {
  YoloNames found;
  YamlNames names;
  bool inside = false;  // of the block after "names:"
  std::string flow;     // "[a," of a list in a line, which may go on in the next
  for (std::string_view line : LinesOf(text)) {
    const std::string_view trimmed = Stripped(line);
    if (trimmed.empty() || trimmed[0] == '#') continue;
    if (flow.empty() && line[0] != ' ' && line[0] != '\t' && line[0] != '-') {
      inside = line.starts_with("names:");
      if (line.starts_with("nc:")) found.counted = NumberOf(Scalar(line.substr(3))).value_or(0);
      if (line.starts_with("kpt_shape:")) {
        const std::string value = Scalar(line.substr(10));
        const std::size_t begin = std::min(value.find('['), value.size());
        const std::size_t end = std::min(value.find(']', begin), value.size());
        const std::vector<std::string_view> sides =
            Pieces(std::string_view(value).substr(0, end).substr(std::min(begin + 1, end)));
        if (sides.size() == 2) {
          found.points = std::min<std::size_t>(NumberOf(sides[0]).value_or(0), 4096);
          found.point_numbers = NumberOf(sides[1]) == 2 ? 2 : 3;
        }
      }
      if (!inside) continue;
      const std::string_view value = Stripped(line.substr(6));
      if (!value.empty() && (value[0] == '[' || value[0] == '{'))
        flow = value;
      else if (!value.empty() && value[0] != '#')
        names.Refuse(value);
    } else if (!flow.empty()) {
      flow.append(" ").append(trimmed);
    } else if (inside) {
      if (trimmed[0] == '-')
        names.Add(trimmed.substr(1));
      else
        names.AddNumbered(trimmed);
    }
    const std::size_t end =
        flow.empty() ? std::string::npos : flow.find(flow[0] == '[' ? ']' : '}');
    if (end == std::string::npos) continue;
    for (const std::string_view piece : Pieces(std::string_view(flow).substr(1, end - 1))) {
      if (flow[0] == '[')
        names.Add(piece);
      else
        names.AddNumbered(piece);
    }
    flow.clear();
    inside = false;
  }
  found.classes = names.Finish();
  return found;
}

YoloNames FindYoloNames(const std::filesystem::path& labels) {
  std::filesystem::path folder = std::filesystem::absolute(labels).lexically_normal();
  if (!folder.has_filename()) folder = folder.parent_path();
  std::vector<std::byte> content;
  for (int up = 0; up < 3; ++up, folder = folder.parent_path()) {
    std::vector<std::filesystem::path> files;
    std::error_code error;
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
      const std::string ending = entry->path().extension();
      const std::string name = entry->path().filename();
      if (name == "classes.txt" || name == "obj.names" || ending == ".yaml" || ending == ".yml") {
        files.push_back(entry->path());
      }
    }
    std::sort(files.begin(), files.end());
    for (const std::filesystem::path& file : files) {
      ReadFile(file, kMaxLabelFileBytes, content);
      YoloNames found;
      if (file.extension() == ".yaml" || file.extension() == ".yml") {
        found = ParseYoloYaml(AsText(content));
      } else {
        for (const std::string_view line : LinesOf(AsText(content))) {
          if (!Stripped(line).empty()) found.classes.push_back(ToUtf8(Stripped(line)));
        }
      }
      if (!found.classes.empty()) return found;
    }
  }
  return {};
}

}  // namespace sluice
