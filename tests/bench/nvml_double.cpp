// A library with the functions of NVML that meters.cpp calls: one GPU, 40% busy, using 5 of 80
// GB.
#include <cstring>

extern "C" {
struct DoubleOfUtilization {
  unsigned gpu, memory;
};
struct DoubleOfMemory {
  unsigned long long total, free, used;
};

int nvmlInit_v2() {
  return 0;
}
int nvmlShutdown() {
  return 0;
}
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** device) {
  static int gpu;
  *device = &gpu;
  return std::strcmp(bus_id, "0000:65:00.0") == 0 ? 0 : 6;  // not found
}
int nvmlDeviceGetUtilizationRates(void*, DoubleOfUtilization* rates) {
  *rates = {40, 10};
  return 0;
}
int nvmlDeviceGetMemoryInfo(void*, DoubleOfMemory* memory) {
  *memory = {80'000'000'000, 75'000'000'000, 5'000'000'000};
  return 0;
}
}
