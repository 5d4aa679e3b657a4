// A field of a batch as the capsule that DLPack's protocol asks for.
#pragma once

#include <optional>

#include "reader/python/binding/binding.h"

namespace sluice::python {

// The keywords that __dlpack__() was called with.
struct DlpackRequest {
  nb::object stream, max_version, dl_device, copy;  // None: not given
};

// `offsets`: export a variable-length field's offsets, not its values. `sample`: only this image.
// Throws a Python BufferError for what cannot be given: another device, or a copy.
nb::object DlpackCapsule(const Batch& batch, const std::string& field, bool offsets,
                         std::optional<std::size_t> sample, const DlpackRequest& request);

// (device type, ordinal), as __dlpack_device__() gives it.
std::pair<int, int> DlpackDevice(const Batch& batch, const std::string& field, bool offsets);

}  // namespace sluice::python
