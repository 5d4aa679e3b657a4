// A store in a child process that fork() made.
#include "tests/catch.h"
#include "tests/format/error_of.h"
#include "tests/reader/in_child.h"
#include "tests/remote/bucket_server.h"
#include "tests/remote/reading.h"

namespace sluice::test {

TEST_CASE("A child made by fork() must open its own store, and may close the parent's") {
  if (!kForks) return;
  BucketServer server;
  server.Set("a", "abc");
  auto store = OpenStoreWith("s3://bkt", TestSettings(server.Variables()));
  CHECK(ReadRange(*store, "a", 0, 3) == "abc");
  CHECK(InChild([&] {
          const bool refused =
              CodeOf([&] { store->Get("a", 3); }) == ErrorCode::kState &&
              CodeOf([&] { store->Read(Reading().Range("a", 0, 1)); }) == ErrorCode::kState;
          store.reset();
          const auto own = OpenStoreWith("s3://bkt", TestSettings(server.Variables()));
          return refused && ReadRange(*own, "a", 1, 2) == "bc";
        }) == 0);
  CHECK(ReadRange(*store, "a", 0, 3) == "abc");
}

}  // namespace sluice::test
