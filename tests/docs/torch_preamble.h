// Declarations for snippets that use LibTorch.
#pragma once

#include <torch/torch.h>

#include <sluice/torch.h>

struct Model : torch::nn::Module {
  at::Tensor forward(const at::Tensor& images);
};
extern std::shared_ptr<Model> model;
extern torch::optim::SGD& optimizer;
void AllReduceMean(const at::Tensor& gradient);
