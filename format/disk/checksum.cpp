#include "format/disk/checksum.h"

#include <memory>
#include <new>

#include <xxhash.h>

namespace sluice {

namespace {
Id128 Canonical(XXH128_hash_t hash) noexcept {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, hash);
  Id128 id;
  std::memcpy(id.bytes.data(), canonical.digest, id.bytes.size());
  return id;
}
}  // namespace

std::uint64_t Hash64(Bytes bytes) noexcept {
  return XXH3_64bits(bytes.data(), bytes.size());
}

Id128 Hash128(Bytes bytes) noexcept {
  return Canonical(XXH3_128bits(bytes.data(), bytes.size()));
}

Id128 Hash128(std::initializer_list<Bytes> parts) {
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(),
                                                                              XXH3_freeState);
  if (!state) throw std::bad_alloc();
  XXH3_128bits_reset(state.get());
  for (const Bytes part : parts)
    XXH3_128bits_update(state.get(), part.data(), part.size());
  return Canonical(XXH3_128bits_digest(state.get()));
}

}  // namespace sluice
