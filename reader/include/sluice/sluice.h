// All of the reader (sluice::reader) in one header: what a training program includes. Apart from it
// are <sluice/torch.h>, which needs LibTorch, and the writer's headers (sluice::writer), such as
// <sluice/convert.h>.
#pragma once

#include <sluice/batch.h>
#include <sluice/batch_sampler.h>
#include <sluice/batch_transform.h>
#include <sluice/block_cache.h>
#include <sluice/cpu.h>
#include <sluice/cuda.h>
#include <sluice/dataset.h>
#include <sluice/device.h>
#include <sluice/dlpack.h>
#include <sluice/error.h>
#include <sluice/geometric_transform.h>
#include <sluice/image.h>
#include <sluice/loader.h>
#include <sluice/loader_memory.h>
#include <sluice/loader_options.h>
#include <sluice/loader_stats.h>
#include <sluice/loader_trace.h>
#include <sluice/mixture.h>
#include <sluice/order.h>
#include <sluice/pad.h>
#include <sluice/parse_pipeline.h>
#include <sluice/pixel_transform.h>
#include <sluice/rank.h>
#include <sluice/resume.h>
#include <sluice/sample_fault.h>
#include <sluice/sample_list.h>
#include <sluice/schema.h>
#include <sluice/shown_path.h>
#include <sluice/transform.h>
#include <sluice/user_function.h>
#include <sluice/verify.h>
#include <sluice/version.h>
#include <sluice/work_folder.h>
