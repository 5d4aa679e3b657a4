#include "format/remote/listing.h"

#include <charconv>

#include "format/remote/percent.h"
#include "format/remote/xml.h"

namespace sluice {

namespace {

// Escaped as a form's values are: a plus is a space.
std::optional<std::string> DecodedKey(std::string text) {
  for (char& c : text) {
    if (c == '+') c = ' ';
  }
  return PercentDecoded(text);
}

}  // namespace

std::optional<ListingPage> ParseListing(std::string_view xml) {
  constexpr std::string_view kRoot = "ListBucketResult";
  constexpr std::string_view kObject = "ListBucketResult/Contents/";
  ListingPage page;
  ListedObject object;
  bool sound = true, escaped = false, truncated = false, is_listing = false, has_size = false;
  const bool read = ReadXml(xml, [&](std::string_view path, std::string&& text) {
    if (path == kRoot) is_listing = true;
    if (path == "ListBucketResult/EncodingType") escaped = text == "url";
    if (path == "ListBucketResult/IsTruncated") truncated = text == "true";
    if (path == "ListBucketResult/NextContinuationToken") page.next = std::move(text);
    if (path == "ListBucketResult/Contents") {
      sound = sound && has_size && !object.key.empty();
      page.objects.push_back(std::move(object));
      object = {};
      has_size = false;
    }
    if (path == "ListBucketResult/CommonPrefixes/Prefix") {
      sound = sound && !text.empty();
      page.folders.push_back(std::move(text));
    }
    if (!path.starts_with(kObject)) return;
    path.remove_prefix(kObject.size());
    if (path == "Key") object.key = std::move(text);
    if (path == "ETag") object.info.etag = std::move(text);
    if (path == "Size") {
      const auto [end, error] =
          std::from_chars(text.data(), text.data() + text.size(), object.info.bytes);
      has_size = error == std::errc() && end == text.data() + text.size();
    }
  });
  if (!read || !sound || !is_listing || (truncated && page.next.empty())) return std::nullopt;
  if (!truncated) page.next.clear();
  // Where EncodingType stands among the others is not said.
  if (escaped) {
    for (ListedObject& listed : page.objects) {
      auto key = DecodedKey(std::move(listed.key));
      if (!key || key->empty()) return std::nullopt;
      listed.key = std::move(*key);
    }
    for (std::string& folder : page.folders) {
      auto decoded = DecodedKey(std::move(folder));
      if (!decoded || decoded->empty()) return std::nullopt;
      folder = std::move(*decoded);
    }
  }
  return page;
}

}  // namespace sluice
