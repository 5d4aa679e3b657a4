#include "format/remote/credentials/credentials.h"

namespace sluice {

std::string WithoutSecrets(std::string text, const Credentials& credentials) {
  constexpr std::size_t kMostBytes = 300;
  for (const std::string& secret : {credentials.secret, credentials.token}) {
    if (secret.empty()) continue;
    for (std::size_t at = text.find(secret); at != std::string::npos; at = text.find(secret, at)) {
      text.replace(at, secret.size(), "***");
    }
  }
  if (text.size() > kMostBytes) text.resize(kMostBytes);
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < ' ' || c == 127) c = ' ';
  }
  return text;
}

}  // namespace sluice
