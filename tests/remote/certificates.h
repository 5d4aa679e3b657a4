// Certificates for the tests' servers, from a certificate authority of the tests' own.
#pragma once

#include <filesystem>
#include <string>

#include "tests/remote/web_server.h"

namespace sluice::test {

// Writes a new authority, and a certificate of 127.0.0.1 and localhost signed by it, into the
// folder. The certificate is valid from `from_days` to `to_days` from now.
Certificate MakeCertificate(const std::filesystem::path& folder, int from_days, int to_days);

}  // namespace sluice::test
