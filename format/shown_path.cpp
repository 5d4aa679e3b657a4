// URLs may carry passwords and signatures, and messages end up in logs. This file leaves them out
// of a URL (ShownUrl, ShownPath) and of all URLs in a text (ShownText).
// In a text, nothing says where a URL ends: it ends before a character that URLs cannot have, and
// without the punctuation after it. A password with an unescaped '/' or '?' hides where the host
// begins; then everything up to the last '@' is left out.
#include <algorithm>

#include <sluice/shown_path.h>
#include <sluice/shown_text.h>

namespace sluice {

namespace {

// The characters that end a URL in a text: a URL contains none of them.
constexpr std::string_view kAfterUrl = " \t\r\n\"`<>";
// One of these at the end of a URL is the message's punctuation, and not part of the URL:
// "http://host/data?x: cannot be opened".
constexpr std::string_view kPunctuation = ":,;.)";
// An apostrophe before one of these closes a quotation, as in a printed list: ['http://host/a'].
constexpr std::string_view kAfterQuote = ":,;.)]}";

// An apostrophe may be part of a URL, but ends a URL that is within single quotes
// ('http://host/a').
std::size_t EndOfUrl(std::string_view text, bool quoted) {
  const std::size_t end = std::min(text.find_first_of(kAfterUrl), text.size());
  const std::string_view url = text.substr(0, end);
  for (std::size_t at = quoted ? url.find('\'') : url.npos; at != url.npos;
       at = url.find('\'', at + 1)) {
    if (at + 1 == end || kAfterQuote.find(url[at + 1]) != std::string_view::npos) return at;
  }
  return end;
}

bool IsSchemeCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
         c == '-' || c == '.';
}

// The scheme at the end of the text; empty if the text does not end with one.
std::string_view SchemeAtEnd(std::string_view text) {
  std::size_t begin = text.size();
  while (begin > 0 && IsSchemeCharacter(text[begin - 1]))
    --begin;
  return text.substr(begin);
}

bool IsKnownScheme(std::string_view scheme) {
  return scheme == "s3" || scheme == "gs" || scheme == "http" || scheme == "https";
}

// In an s3:// or gs:// key '?' is an ordinary character; elsewhere it begins the query.
bool HasKeys(std::string_view scheme) {
  return scheme == "s3" || scheme == "gs";
}

// Whether a URL of a bucket was signed, so that its query is a secret. A bucket's name has no ?.
bool IsSigned(std::string_view rest, std::size_t query) {
  if (query > rest.size()) return false;
  const std::string_view text = rest.substr(query);
  return query < rest.find('/') || text.find("ignature=") != std::string_view::npos ||
         text.find("sig=") != std::string_view::npos;
}

bool IsPort(std::string_view text) {
  return text.find_first_not_of("0123456789") == std::string_view::npos;
}

// The part of a URL after its slashes, without its secrets.
std::string_view WithoutSecrets(std::string_view scheme, std::string_view rest) {
  const std::size_t end = std::min(rest.find_first_of("/?#"), rest.size());
  std::size_t at = rest.substr(0, end).rfind('@');
  if (at == std::string_view::npos && !rest.starts_with('[')) {
    // The password may hold an unescaped / or ? (%2F and %3F are the right way to write them).
    const std::size_t colon = rest.substr(0, end).find(':');
    if (colon != std::string_view::npos && !IsPort(rest.substr(colon + 1, end - colon - 1)))
      at = rest.rfind('@');
  }
  if (at != std::string_view::npos) rest.remove_prefix(at + 1);
  const std::size_t query = rest.find_first_of("?#");
  return HasKeys(scheme) && !IsSigned(rest, query) ? rest : rest.substr(0, query);
}

}  // namespace

bool IsStoreUrl(std::string_view path) noexcept {
  const std::size_t colon = path.find(":/");
  if (colon == std::string_view::npos || colon == 0) return false;
  const char first = path.front();
  const bool letter = (first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z');
  const std::string_view scheme = SchemeAtEnd(path.substr(0, colon));
  return letter && scheme.size() == colon &&
         (path.substr(colon).starts_with("://") || IsKnownScheme(scheme));
}

std::string ShownUrl(std::string_view url) {
  const std::size_t scheme = url.find(":/");
  if (scheme == std::string_view::npos) return std::string(url.substr(0, url.find_first_of("?#")));
  const std::size_t begin = scheme + (url.substr(scheme).starts_with("://") ? 3 : 2);
  std::string_view rest = WithoutSecrets(url.substr(0, scheme), url.substr(begin));
  while (rest.ends_with('/'))
    rest.remove_suffix(1);
  return std::string(url.substr(0, begin)) + std::string(rest);
}

std::string ShownPath(std::string_view path) {
  return IsStoreUrl(path) ? ShownUrl(path) : std::string(path);
}

std::string ShownText(std::string_view text) {
  std::string shown;
  for (std::size_t colon = text.find(":/"); colon != std::string_view::npos;
       colon = text.find(":/")) {
    const std::string_view scheme = SchemeAtEnd(text.substr(0, colon));
    const bool quoted = text.substr(0, colon - scheme.size()).ends_with('\'');
    std::size_t begin = colon + 1;
    while (begin < text.size() && text[begin] == '/')
      ++begin;
    // "s3:/bucket" is a URL, too: normalising a path drops one of its two slashes.
    const bool is_url = !scheme.empty() && (begin > colon + 2 || IsKnownScheme(scheme));
    shown += text.substr(0, begin);
    text.remove_prefix(begin);
    if (!is_url) continue;
    std::size_t end = EndOfUrl(text, quoted);
    while (end > 0 && kPunctuation.find(text[end - 1]) != std::string_view::npos)
      --end;
    shown += WithoutSecrets(scheme, text.substr(0, end));
    text.remove_prefix(end);
  }
  return shown += text;
}

}  // namespace sluice
