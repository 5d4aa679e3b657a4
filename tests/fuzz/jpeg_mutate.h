// Mutations that know a JPEG file's structure, and the comparison that tells how many of them come
// through.
#pragma once

#include "format/random.h"
#include "tests/fuzz/targets.h"

namespace sluice::fuzz {

// Changes a JPEG file in one to three places: bits of its coded data, its Huffman and quantisation
// tables, its restart interval and markers, its frame and scan; or its coefficients and the tables
// they are coded with, after which it is sound again. Segments keep a true length and coded data
// its stuffing. Bytes that are no such file are changed as Mutate() does.
void MutateJpeg(Input& input, const Input& other, RandomStream& random);

// The payload target's: MutateJpeg() of what stands behind the request, most of the time.
void MutatePayload(Input& input, const Input& other, RandomStream& random);

// Runs the JPEG target. Whether the decoder took the whole picture, so that it was compared.
bool CompareJpeg(Bytes input);

}  // namespace sluice::fuzz
