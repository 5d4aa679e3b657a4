// Batches as tensors for other frameworks, by DLPack (version 1, DLManagedTensorVersioned). Images
// and large fields are not copied. This header needs no header of DLPack; the framework that takes
// the tensor has its own.
#pragma once

#include <cstddef>
#include <string_view>

#include <sluice/batch.h>

struct DLManagedTensorVersioned;

namespace sluice {

// A field in host memory that is not an image is copied into its tensor if the field has at most
// this many bytes. The copy takes about as long as making the tensor. In return, a label that you
// keep does not keep its whole batch in memory.
inline constexpr std::size_t kCopiedTensorBytes = 65536;

// Returns a field of the batch as a tensor ({}: Batch::image()):
//
//   an image                 samples x height x width x channels, or
//                            samples x channels x height x width, by its layout
//   a fixed-shape array      samples x the field's shape
//   a variable-length or     entries of all samples x the shape of an entry; OffsetsToDlpack()
//   bytes field              says where each sample begins
//
// Images and fixed-shape arrays are on the batch's device, other fields in host memory. With
// ImageSizes::kOwn, use SampleToDlpack() for images.
//
// A tensor that is not a copy holds the batch until its deleter is called; any thread may call the
// deleter. On a device, work submitted to `stream` after this call waits until the batch is there;
// Batch::WaitOn() says when the slot is reused. (DLPack's stream numbers 1 and 2 are valid here.
// Its -1, for no stream, is not.) The receiver may write to the tensor. Throws
// Error(kInvalidArgument) for a field that is not in the batch.
DLManagedTensorVersioned* ToDlpack(const Batch& batch, std::string_view field = {},
                                   DeviceStream stream = {});
// Returns one sample of an image field ({}: of Batch::image()) as a tensor: height x width x
// channels, or channels x height x width. Otherwise like ToDlpack().
DLManagedTensorVersioned* SampleToDlpack(const Batch& batch, std::string_view field,
                                         std::size_t sample, DeviceStream stream = {});
// Returns where each sample begins in ToDlpack()'s tensor of a variable-length or bytes field:
// int64, one number more than the batch has samples, in host memory. Sample i has the entries from
// offsets[i] to offsets[i + 1] - 1. Throws the same errors as ToDlpack().
DLManagedTensorVersioned* OffsetsToDlpack(const Batch& batch, std::string_view field);

}  // namespace sluice
