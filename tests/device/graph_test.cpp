// Work that a device records once and repeats (DeviceDriver::NewGraph), on the simulated device and
// through CUDA's driver.
#include <cstring>
#include <memory>
#include <stdexcept>

#include "reader/device/device_driver.h"
#include "tests/catch.h"
#include "tests/device/cuda_double/cuda_double.h"
#include "tests/device/device_decoding.h"
#include "tests/device/simulated_device.h"
#include "tests/reader/playing.h"

using namespace sluice;
using namespace sluice::test;

namespace {

void CheckGraphs(DeviceDriver& driver) {
  constexpr std::size_t kBytes = 64;
  std::byte* const from = driver.AllocatePinned(2 * kBytes);
  std::byte* const back = from + kBytes;
  {
    const DeviceBuffer there(driver, kBytes);
    const OwnStream stream(driver);
    const OwnGraph graph(driver, [&](DeviceDriver::Stream recording) {
      driver.Copy(recording, there.data(), from, kBytes);
      driver.CopyBack(recording, back, there.data(), kBytes);
    });
    driver.Drain(stream.get());
    CHECK(back[0] == std::byte{0});  // the work is recorded, not done
    for (const int value : {7, 8}) {
      std::memset(from, value, kBytes);
      driver.Launch(stream.get(), graph.get());
      driver.Drain(stream.get());
      CHECK(std::memcmp(from, back, kBytes) == 0);
    }
    const auto fails = [&](DeviceDriver::Stream recording) {
      driver.Copy(recording, there.data(), from, kBytes);
      throw std::runtime_error("no work");
    };
    CHECK_THROWS_AS(OwnGraph(driver, fails), std::runtime_error);
  }
  driver.FreePinned(from);
}

}  // namespace

TEST_CASE("A graph's work is done at each launch, with the memory's contents at that time") {
  SimulatedDevice simulated;
  CheckGraphs(simulated);
  CHECK(simulated.Alive() == 0);

  cuda_double::Reset();
  CheckGraphs(*OpenCuda(0));
  CHECK(cuda_double::Alive() == 0);
}

TEST_CASE("A card decodes a batch with one graph, unless the batch needs several waves") {
  const TemporaryFolder folder;
  LoaderOptions options = OptionsFor(10, 2);
  options.on_device.decode = DecodeOn::kDevice;
  options.transform = {RandomResizedCrop(24)};
  std::vector<std::string> names = {"image"};
  const auto play = [&](const Dataset& dataset) {
    cuda_double::Reset();
    options.device = Device::Cuda(0);
    CHECK(CheckSame(dataset, options, names) >= 30);
  };
  const Dataset dataset = Dataset::Open(WriteJpegDataset(folder, 30, StoredForm()));
  play(dataset);
  CHECK(cuda_double::Launches() >= 3);
  CHECK(cuda_double::Kernels() == 0);
  options.views = {{"wide", {CenterCrop(40)}, {}}};
  names.emplace_back("wide");
  play(dataset);
  CHECK(cuda_double::Launches() >= 3);
  CHECK(cuda_double::Kernels() == 0);
  // Pictures that need more scratch memory than a slot has for them on average.
  const std::filesystem::path path = folder / "whole";
  DatasetWriter writer(path, {{Field::Image(), Field::Label("label")}});
  JpegOptions form = StoredForm();
  form.subsample = false;
  for (int i = 0; i < 30; ++i) {
    SampleBuilder sample = writer.NewSample("photo-" + std::to_string(i));
    sample.SetJpeg("image", MakeJpeg(MakePicture(200, 160, 3, static_cast<unsigned>(i)), form));
    sample.Set<std::int32_t>("label", i);
    writer.Add(sample);
  }
  writer.Finish();
  options.views = {};
  names.pop_back();
  options.transform = {Resize(200, 160)};
  play(Dataset::Open(path));
  CHECK(cuda_double::Kernels() > 0);
}
