#include "format/remote/credentials/credentials.h"

#include <algorithm>
#include <string_view>

#include <sluice/shown_text.h>

namespace sluice {

namespace {

constexpr std::string_view kMasked = "***";

void MaskAll(std::string& text, const std::string& secret) {
  if (secret.empty()) return;
  for (std::size_t at = text.find(secret); at != std::string::npos;
       at = text.find(secret, at + kMasked.size())) {
    text.replace(at, secret.size(), kMasked);
  }
}

// The values of "Signature=1f2e, Credential=AKIA/..." and "X-Amz-Signature=1f2e&", whole or cut.
void MaskValues(std::string& text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at)) {
    at += name.size();
    const std::size_t end = std::min(text.find_first_of(" ,;&\"'<>\t\r\n", at), text.size());
    text.replace(at, end - at, kMasked);
  }
}

// A signature without its name, or the digest of a request.
void MaskDigests(std::string& text) {
  constexpr std::size_t kLeastDigits = 32;
  constexpr const char* kDigits = "0123456789abcdefABCDEF";
  for (std::size_t at = text.find_first_of(kDigits); at != std::string::npos;
       at = text.find_first_of(kDigits, at)) {
    const std::size_t end = std::min(text.find_first_not_of(kDigits, at), text.size());
    const bool masked = end - at >= kLeastDigits;
    if (masked) text.replace(at, end - at, kMasked);
    at = masked ? at + kMasked.size() : end;
  }
}

}  // namespace

std::string WithoutSecrets(std::string text, const Credentials& credentials) {
  constexpr std::size_t kMostBytes = 300;
  for (const std::string& secret : {credentials.secret, credentials.token, credentials.key_id})
    MaskAll(text, secret);
  for (const char* const name : {"ignature=", "redential=", "ecurity-Token=", "ecurity-token:"})
    MaskValues(text, name);
  MaskDigests(text);
  text = ShownText(text);
  if (text.size() > kMostBytes) text.resize(kMostBytes);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == 127) c = ' ';
  }
  return text;
}

}  // namespace sluice
