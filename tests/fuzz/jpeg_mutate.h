// Mutations that know the structure of a JPEG file, and the comparison that shows how many of their
// results can be decoded.
#pragma once

#include "format/random.h"
#include "tests/fuzz/targets.h"

namespace sluice::fuzz {

// Changes a JPEG file in one to three places: bits of its coded data, its Huffman and quantisation
// tables, its restart interval and markers, its frame and scan; or its coefficients and the tables
// that code them, after which the file is valid again. Lengths of segments and the stuffing of
// coded data stay right. Sometimes, and always for other files, calls Mutate() instead.
void MutateJpeg(Input& input, const Input& other, RandomStream& random);

// For the payload target: mostly MutateJpeg() of the bytes after the request.
void MutatePayload(Input& input, const Input& other, RandomStream& random);

// Runs the JPEG target. Returns whether the decoder decoded the whole picture, so that it was
// compared.
bool CompareJpeg(Bytes input);

}  // namespace sluice::fuzz
