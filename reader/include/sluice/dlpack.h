// Batches for other frameworks, by DLPack (version 1, DLManagedTensorVersioned); images and large
// fields without a copy. This header needs no header of DLPack; the framework that takes the tensor
// brings its own.
#pragma once

#include <cstddef>
#include <string_view>

#include <sluice/batch.h>

struct DLManagedTensorVersioned;

namespace sluice {

// A field in host memory that is not an image is copied into its tensor if it has at most this many
// bytes. The copy takes about as long as making the tensor; in return, a label that is kept does
// not keep its whole batch in memory.
inline constexpr std::size_t kCopiedTensorBytes = 65536;

// Returns the batch's image (an empty name), another image, or a field, as a tensor. An image has
// the shape samples x height x width x channels or samples x channels x height x width, by its
// layout; a fixed-shape array has samples x the field's shape. Both are on the batch's device. A
// variable-length or bytes field has the entries of all samples x the shape of an entry, and is in
// host memory; OffsetsToDlpack() says where each sample begins. With ImageSizes::kOwn, use
// SampleToDlpack() for images.
//
// A tensor that is not a copy holds the batch until its deleter is called, by any thread. On a
// device, work submitted to `stream` after this call waits until the batch is there;
// Batch::WaitOn() says when the slot is reused. (DLPack's stream numbers 1 and 2 are valid here;
// its -1, for no stream, is not.) The receiver may write to the tensor. Throws
// Error(kInvalidArgument) for a field that is not in the batch.
DLManagedTensorVersioned* ToDlpack(const Batch& batch, std::string_view field = {},
                                   DeviceStream stream = {});
// One sample of an image field ({}: of Batch::image()): height x width x channels or channels x
// height x width. Otherwise like ToDlpack().
DLManagedTensorVersioned* SampleToDlpack(const Batch& batch, std::string_view field,
                                         std::size_t sample, DeviceStream stream = {});
// Where each sample begins in such a tensor of a variable-length or bytes field: int64, one more
// than the batch has samples, in host memory. Sample i has the entries offsets[i] .. offsets[i + 1]
// - 1. Throws the same errors as ToDlpack().
DLManagedTensorVersioned* OffsetsToDlpack(const Batch& batch, std::string_view field);

}  // namespace sluice
