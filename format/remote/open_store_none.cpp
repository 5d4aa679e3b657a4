#include "format/remote/object_store.h"

namespace sluice {

std::shared_ptr<ObjectStore> OpenStore(std::string_view) {
  throw Error(
      ErrorCode::kUnsupported,
      "this build of Sluice cannot open URLs (s3://, gs://, http://, https://): install libcurl "
      "and "
      "OpenSSL with their headers (libcurl4-openssl-dev, libssl-dev) and build it again with "
      "-DSLUICE_WITH_REMOTE=ON");
}

}  // namespace sluice
