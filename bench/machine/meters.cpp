// Both meters give no figures, instead of failing, where the machine does not allow reading them.
// The energy is that of packages alone, since a package's counter includes the counters of its
// parts. NVML is loaded at run time, so the few types and functions that are used are declared here
// and must match NVML's. It gives the load of at most the last second, so a thread samples it, and
// Take() adds a sample of its own, so that even a short time has one.
#include "bench/machine/meters.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <utility>

#include <dlfcn.h>

#include "tools/cli/quantity.h"

namespace sluice::bench {

namespace {

std::optional<std::uint64_t> NumberIn(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::uint64_t number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

// Whether the name is a package's: "intel-rapl:0" is a package, "intel-rapl:0:1" a part of it that
// the package's counter includes. (AMD's counters have the same names.)
bool IsPackage(const std::string& name) {
  return name.starts_with("intel-rapl:") && std::count(name.begin(), name.end(), ':') == 1;
}

}  // namespace

EnergyMeter::EnergyMeter(const std::filesystem::path& powercap) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(powercap, error)) {
    if (!IsPackage(entry.path().filename().string())) continue;
    const auto counter = NumberIn(entry.path() / "energy_uj");
    const auto range = NumberIn(entry.path() / "max_energy_range_uj");
    if (counter && range) packages_.push_back({entry.path() / "energy_uj", *range, *counter});
  }
}

std::optional<double> EnergyMeter::Joules() {
  if (packages_.empty()) return std::nullopt;
  double joules = 0;
  for (Package& package : packages_) {
    const auto now = NumberIn(package.counter);
    if (!now) return std::nullopt;
    const std::uint64_t taken =
        *now >= package.last ? *now - package.last : *now + package.range - package.last;
    joules += 1e-6 * static_cast<double>(taken);
    package.last = *now;
  }
  return joules;
}

// NVML's types and functions. Each function returns 0 for success.
struct GpuMeter::Nvml {
  using Device = void*;
  struct Utilization {
    unsigned gpu = 0, memory = 0;  // percent
  };
  struct Memory {
    unsigned long long total = 0, free = 0, used = 0;  // bytes
  };

  void* library = nullptr;
  Device device = nullptr;
  int (*shut_down)() = nullptr;
  int (*device_at)(const char* bus_id, Device*) = nullptr;
  int (*utilization)(Device, Utilization*) = nullptr;
  int (*memory)(Device, Memory*) = nullptr;

  Nvml() = default;
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;
  ~Nvml() {
    if (shut_down != nullptr) shut_down();
    if (library != nullptr) dlclose(library);
  }

  template <class Function>
  bool Find(const char* name, Function& function) const {
    function = reinterpret_cast<Function>(dlsym(library, name));
    return function != nullptr;
  }
  bool Open(const char* name, const std::string& bus_id) {
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return false;
    int (*initialise)() = nullptr;
    int (*end)() = nullptr;
    if (!Find("nvmlInit_v2", initialise) || !Find("nvmlShutdown", end) ||
        !Find("nvmlDeviceGetHandleByPciBusId_v2", device_at) ||
        !Find("nvmlDeviceGetUtilizationRates", utilization) ||
        !Find("nvmlDeviceGetMemoryInfo", memory) || initialise() != 0) {
      return false;
    }
    shut_down = end;
    return device_at(bus_id.c_str(), &device) == 0;
  }
};

GpuMeter::GpuMeter(const std::string& bus_id, const char* library) {
  if (bus_id.empty()) return;
  auto nvml = std::make_unique<Nvml>();
  if (!nvml->Open(library, bus_id)) return;
  nvml_ = std::move(nvml);
  thread_ = std::thread([this] { Run(); });
}

GpuMeter::~GpuMeter() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(mutex_);
    ending_ = true;
  }
  ends_.NotifyAll();
  thread_.join();
}

void GpuMeter::Sample() {
  Nvml::Utilization utilization;
  Nvml::Memory memory;
  if (nvml_->utilization(nvml_->device, &utilization) != 0) return;
  if (nvml_->memory(nvml_->device, &memory) != 0) return;
  use_.busy += std::min(utilization.gpu, 100U) / 100.0;
  use_.memory_bytes = std::max<std::uint64_t>(use_.memory_bytes, memory.used);
  use_.memory_total_bytes = memory.total;
  ++samples_;
}

void GpuMeter::Run() {
  const MutexLock lock(mutex_);
  while (!ending_) {
    Sample();
    ends_.WaitFor(mutex_, std::chrono::milliseconds(100));
  }
}

std::optional<GpuUse> GpuMeter::Take() {
  if (!nvml_) return std::nullopt;
  const MutexLock lock(mutex_);
  Sample();
  GpuUse use = std::exchange(use_, {});
  const std::uint64_t samples = std::exchange(samples_, 0);
  if (samples == 0) return std::nullopt;
  use.busy /= static_cast<double>(samples);
  return use;
}

std::string GpuText(const std::optional<GpuUse>& gpu) {
  if (!gpu) return "unknown: NVML, which comes with the driver, does not tell";
  return cli::Format("busy %.0f%% of the time by NVML, with at most %s of its %s in use",
                     100 * gpu->busy, cli::BytesText(gpu->memory_bytes).c_str(),
                     cli::BytesText(gpu->memory_total_bytes).c_str());
}

}  // namespace sluice::bench
