#include "format/disk/shard_look.h"

#include <sluice/version.h>

#include "format/disk/checksum.h"
#include "format/disk/file.h"
#include "format/disk/shard.h"

namespace sluice {

namespace {

Error Mismatch(const std::string& name, const std::string& what) {
  return Error(ErrorCode::kCorrupt, name, what + ": restore it or convert again");
}

void Compare(const std::filesystem::path& path, const ManifestShard& shard) {
  const std::string name = path.string();
  const FileHandle file = OpenForReading(path);
  const std::uint64_t bytes = FileBytes(file, path);
  if (bytes != shard.bytes) {
    throw Mismatch(name, "has " + std::to_string(bytes) + " bytes, but the manifest says " +
                             std::to_string(shard.bytes) + "; it was cut short or replaced");
  }
  ShardHeader header;
  if (ReadAt(file, path, 0, std::as_writable_bytes(std::span(&header, 1))) < sizeof(header) ||
      !HasMagic(header)) {
    throw Mismatch(name, "is not a Sluice shard");
  }
  if (header.version != kFormatVersion) return;  // opening the shard will say what to do
  const Bytes hashed = {reinterpret_cast<const std::byte*>(&header),
                        offsetof(ShardHeader, header_checksum)};
  if (header.header_checksum != Hash64(hashed)) {
    throw Mismatch(name, "its header's checksum does not match");
  }
  if (header.shard_id != shard.id || header.block_samples != shard.block_samples) {
    throw Mismatch(name, "is not the shard that the manifest names");
  }
}

}  // namespace

std::optional<Error> LookAtShard(const std::filesystem::path& folder, const ManifestShard& shard) {
  try {
    Compare(folder / shard.file, shard);
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  }
}

ShardsLook LookAtShards(const std::filesystem::path& folder, const Manifest& manifest,
                        const std::stop_token& stop) {
  ShardsLook look;
  look.faulty.resize(manifest.shards.size());
  for (std::size_t s = 0; s < manifest.shards.size() && !stop.stop_requested(); ++s) {
    std::optional<Error> error = LookAtShard(folder, manifest.shards[s]);
    if (!error) continue;
    look.faulty[s] = true;
    ++look.shards;
    look.samples += manifest.shards[s].samples;
    if (look.errors.size() < ShardsLook::kMaxKept) look.errors.push_back(std::move(*error));
  }
  return look;
}

}  // namespace sluice
