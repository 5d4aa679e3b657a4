// Batches for other frameworks, without a copy, by DLPack (version 1, DLManagedTensorVersioned).
// Needs no DLPack header; the framework that takes the tensor brings its own.
#pragma once

#include <string_view>

#include <sluice/batch.h>

struct DLManagedTensorVersioned;

namespace sluice {

// Returns the batch's image (an empty name), another image, or a fixed-shape array, as a tensor on
// the batch's device. An image has the shape samples x height x width x channels or samples x
// channels x height x width, by its layout; an array has samples x its shape. The tensor holds the
// batch until its deleter is called, by any thread. On a device, work submitted to `stream` after
// this call finds the tensor ready, and its slot is used again as Batch::WaitOn() says. (Of the
// numbers by which DLPack names CUDA streams, 1 and 2 are valid handles here; -1, for none, is
// not.) The receiver may write to the tensor. Throws Error(kInvalidArgument) for a field that is
// not in the batch.
DLManagedTensorVersioned* ToDlpack(const Batch& batch, std::string_view field = {},
                                   DeviceStream stream = {});

}  // namespace sluice
