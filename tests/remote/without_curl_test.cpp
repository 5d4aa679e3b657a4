// Object stores in a build without libcurl.
#include <sluice/error.h>

#include "format/remote/object_store.h"
#include "tests/catch.h"
#include "tests/format/error_of.h"

namespace sluice {

TEST_CASE("Without libcurl a URL is still recognised, and the error says what to install") {
  CHECK(IsStoreUrl("s3://bucket/data"));
  CHECK_FALSE(IsStoreUrl("/data"));
  const auto error = test::ErrorOf([] { OpenStore("s3://bucket/data"); });
  REQUIRE(error);
  CHECK(error->code() == ErrorCode::kUnsupported);
  CHECK_THAT(error->what(), Catch::Matchers::ContainsSubstring("libcurl4-openssl-dev"));
}

}  // namespace sluice
