#include "writer/source/json_elements.h"

#include <cstdio>
#include <memory>
#include <vector>

#include <sluice/error.h>

#include "format/disk/file.h"
#include "format/disk/limits.h"
#include "writer/source/source_list.h"
#include "writer/text.h"

namespace sluice {

namespace {

using nlohmann::json;

// Builds one element at a time.
class ElementEvents : public nlohmann::json_sax<json> {
 public:
  using Visit = std::function<void(const std::string&, const json&)>;
  ElementEvents(std::string file, const std::stop_token& stop, const Visit& visit)
      : file_(std::move(file)), stop_(stop), visit_(visit) {}

  bool null() override { return Value(nullptr); }
  bool boolean(bool value) override { return Value(value); }
  bool number_integer(number_integer_t value) override { return Value(value); }
  bool number_unsigned(number_unsigned_t value) override { return Value(value); }
  bool number_float(number_float_t value, const string_t&) override { return Value(value); }
  bool string(string_t& value) override { return Value(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return Begin(json::object()); }
  bool start_array(std::size_t) override { return Begin(json::array()); }
  bool end_object() override { return End(); }
  bool end_array() override { return End(); }

  bool key(string_t& name) override {
    if (depth_ == 1)
      list_ = std::move(name);
    else if (!open_.empty())
      member_ = &(*open_.back())[name];
    return true;
  }

  bool parse_error(std::size_t position, const std::string& token,
                   const nlohmann::detail::exception&) override {
    throw Error(ErrorCode::kCorrupt, file_, "byte " + std::to_string(position),
                token.empty() || token == "<end of file>"
                    ? "the file ends early"
                    : "is not JSON: " + ToUtf8(token.substr(0, 40)));
  }

 private:
  // Elements stand at depth 2: in a list in the object at the top.
  static constexpr unsigned kElementDepth = 2;

  bool Begin(json empty) {
    if (depth_ == 0 && !empty.is_object()) {
      throw Error(ErrorCode::kCorrupt, file_,
                  "is a list, and not an object with images and annotations as COCO's files are");
    }
    if (depth_ == 1) in_list_ = empty.is_array();
    if (++depth_ > kMaxJsonDepth) {
      throw Error(ErrorCode::kCorrupt, file_, "nests too deeply");
    }
    if (depth_ <= kElementDepth || !in_list_) return true;
    if (open_.empty()) {
      element_ = std::move(empty);
      open_.push_back(&element_);
    } else {
      open_.push_back(Place(std::move(empty)));
    }
    return true;
  }

  bool End() {
    --depth_;
    if (open_.empty()) return true;
    open_.pop_back();
    if (open_.empty()) Finish();
    return true;
  }

  template <class T>
  bool Value(T&& value) {
    if (depth_ == 0) throw Error(ErrorCode::kCorrupt, file_, "is no JSON object");
    if (!open_.empty()) {
      Place(json(std::forward<T>(value)));
    } else if (depth_ == kElementDepth && in_list_) {
      element_ = json(std::forward<T>(value));
      Finish();
    }
    return true;
  }

  json* Place(json value) {
    json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    *member_ = std::move(value);
    return member_;
  }

  void Finish() {
    if (stop_.stop_requested()) ThrowStopped();
    visit_(list_, element_);
  }

  std::string file_;
  const std::stop_token& stop_;
  const Visit& visit_;
  unsigned depth_ = 0;
  bool in_list_ = false;
  std::string list_;
  json element_;
  std::vector<json*> open_;  // from the element to the innermost value that is still open
  json* member_ = nullptr;   // of the innermost object
};

}  // namespace

void ForEachElement(const std::filesystem::path& file, const std::stop_token& stop,
                    const std::function<void(const std::string&, const json&)>& visit) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file, ignored)) {
    throw Error(ErrorCode::kInvalidArgument, file.string(), "is a folder; give the .json file");
  }
  FileHandle handle = OpenForReading(file);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(fdopen(handle.get(), "rb"),
                                                               std::fclose);
  if (!stream) throw Error(ErrorCode::kIo, file.string(), "cannot be read");
  handle.Release();
  ElementEvents events(file.string(), stop, visit);
  json::sax_parse(stream.get(), &events);
  if (std::ferror(stream.get()) != 0) throw Error(ErrorCode::kIo, file.string(), "cannot be read");
}

}  // namespace sluice
