// Batches for other frameworks, without a copy, by DLPack (version 1, DLManagedTensorVersioned).
// Needs no header of DLPack's; the framework that takes the tensor brings its own.
#pragma once

#include <string_view>

#include <sluice/batch.h>

struct DLManagedTensorVersioned;

namespace sluice {

// The batch's image (an empty name), another image or a fixed-shape array, as a tensor on the
// batch's device: images of shape samples x height x width x channels or samples x channels x
// height x width, as their layout says, arrays of samples x shape. The tensor holds the batch until
// its deleter is called, which may be on any thread. On a device it is ready for what `stream` is
// given from now on, and its place is used again as Batch::WaitOn() says. (Of the numbers by which
// DLPack names CUDA's streams, 1 and 2 are handles like any other; -1, for none, is not.) Whoever
// takes the tensor may write to it. Throws Error(kInvalidArgument) for a field that is not in the
// batch.
DLManagedTensorVersioned* ToDlpack(const Batch& batch, std::string_view field = {},
                                   DeviceStream stream = {});

}  // namespace sluice
