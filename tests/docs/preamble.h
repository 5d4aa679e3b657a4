// Declarations that the pages' snippets may use without showing them: the headers, functions of a
// training program, and objects that the text around a snippet has made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include <sluice/cuda.h>
#include <sluice/loader.h>

using cudaStream_t = CUstream_st*;

// Functions of the program that a snippet is a part of.
void Train(...);
void Show(const sluice::ImageBatch& image);
void TrainPixels(const float* images, const std::uint8_t* masks, std::size_t samples);
void TrainOnBoth(const sluice::Batch& labelled, const sluice::Batch& unlabelled);
void TrainWith(sluice::Loader& loader);
std::vector<std::int32_t> Guess(const sluice::ImageBatch& images);
int RunConversionAgain(const std::string& path);
std::uint64_t CountRight(const sluice::ImageBatch& images, std::span<const std::int32_t> labels);
std::uint64_t SumOverRanks(std::uint64_t value);
void AddTarget(std::size_t sample, std::int32_t of, std::span<const float> corners);
void DrawHeatMap(std::span<const float> boxes, std::span<float> target);
std::vector<std::vector<std::uint64_t>> BucketsByAspectRatio(std::uint64_t seed,
                                                             std::uint64_t epoch);
void Mix(std::span<std::uint8_t> image, std::span<float> target, sluice::Draws& draws);

// The parameters of the function that a snippet becomes; snippets may have variables of the same
// names.
#define SNIPPET_NAMES                                                                              \
  const sluice::Dataset &dataset, sluice::LoaderOptions &options, sluice::Loader &loader,          \
      const sluice::Batch &batch, sluice::Loader &labelled, sluice::Loader &unlabelled,            \
      std::uint64_t epoch, cudaStream_t stream, const std::vector<float>&mean,                     \
      const std::vector<float>&deviation, std::ostream &checkpoint, const std::string &text,       \
      const std::string &path, std::span<const std::byte> jpeg_file, std::span<const float> boxes, \
      sluice::LoaderOptions &train_options, sluice::Loader &validation_loader,                     \
      const sluice::Dataset &photos, const sluice::Dataset &drawings, const std::string &pipeline, \
      std::span<const std::byte> file, std::span<const std::byte> jpeg_bytes
