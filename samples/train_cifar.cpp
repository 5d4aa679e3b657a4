// Trains a ResNet-9 on CIFAR-10, on a GPU if LibTorch has one, else on the CPU.
//
//   sluice convert cifar10/train data/train && sluice convert cifar10/test data/test
//   train_cifar data/train data/test
//   train_cifar --loader naive cifar10/train cifar10/test     # from the files, to compare with
//
// The network and the recipe are David Page's ("How to train your ResNet"): 24 epochs of SGD with
// Nesterov momentum, a learning rate that rises and falls, crops out of a mirrored border, and
// flips. His Cutout is an option (--cutout 8); labels are smoothed in any case. The test adds the
// scores of each picture and its mirror image. On a GPU, images and convolutions are bfloat16;
// weights, their gradients and the scores stay float32.
//
// The cost of loading is the time of an epoch minus that of --loader kept, which keeps the first
// epoch's batches on the device and plays them again. On the CPU, the program also prints how long
// it waited for batches. On a GPU that figure would mislead, since the host runs ahead until all
// batches are in use, and then waits for the GPU.
#include <chrono>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>
#include <string>

#include <torch/torch.h>

#include "train_cifar_batches.h"

namespace nn = torch::nn;
using Clock = std::chrono::steady_clock;

struct Arguments {
  std::string train, test, loader = "sluice";
  int epochs = 24;
  int steps = 0;   // > 0: stops after this many steps
  int width = 64;  // of the first layer, in channels
  BatchOptions batches;
};

// A convolution with batch normalisation and ReLU; computes in the type of its input.
struct ConvolutionImpl : nn::Module {
  ConvolutionImpl(int in, int out)
      : convolution(register_module(
            "convolution", nn::Conv2d(nn::Conv2dOptions(in, out, 3).padding(1).bias(false)))),
        norm(register_module("norm", nn::BatchNorm2d(out))) {}
  at::Tensor forward(const at::Tensor& x) {
    const at::Tensor weight = convolution->weight.to(x.scalar_type());
    return norm(at::conv2d(x, weight, {}, /*stride=*/1, /*padding=*/1)).relu();
  }
  nn::Conv2d convolution;
  nn::BatchNorm2d norm;
};
TORCH_MODULE(Convolution);

// Adds two convolutions of x to x.
struct ResidualImpl : nn::Module {
  explicit ResidualImpl(int channels)
      : first(register_module("first", Convolution(channels, channels))),
        second(register_module("second", Convolution(channels, channels))) {}
  at::Tensor forward(const at::Tensor& x) { return x + second(first(x)); }
  Convolution first, second;
};
TORCH_MODULE(Residual);

struct ScoresImpl : nn::Module {
  explicit ScoresImpl(int channels)
      : linear(register_module("linear", nn::Linear(nn::LinearOptions(channels, 10).bias(false)))) {
  }
  at::Tensor forward(const at::Tensor& x) { return 0.125 * linear(x.to(at::kFloat)); }
  nn::Linear linear;
};
TORCH_MODULE(Scores);

nn::Sequential ResNet9(int w) {
  return nn::Sequential(Convolution(3, w), Convolution(w, 2 * w), nn::MaxPool2d(2), Residual(2 * w),
                        Convolution(2 * w, 4 * w), nn::MaxPool2d(2), Convolution(4 * w, 8 * w),
                        nn::MaxPool2d(2), Residual(8 * w), nn::AdaptiveMaxPool2d(1), nn::Flatten(),
                        Scores(8 * w));
}

std::unique_ptr<Batches> Open(const Arguments& arguments, bool training) {
  BatchOptions options = arguments.batches;
  options.training = training;
  const std::string& path = training ? arguments.train : arguments.test;
  if (arguments.loader == "naive") return std::make_unique<NaiveBatches>(path, options);
  auto batches = std::make_unique<SluiceBatches>(path, options);
  if (training && arguments.loader == "kept") return std::make_unique<KeptBatches>(*batches);
  return batches;
}

// Rises to its peak in the first fifth of the training, then falls to zero.
double LearningRate(double progress) {
  constexpr double kPeak = 0.4, kPeakAt = 0.2;
  return kPeak * std::min(progress / kPeakAt, (1 - progress) / (1 - kPeakAt));
}

// Accuracy on the test pictures, in percent.
double Accuracy(nn::Sequential& model, Batches& batches) {
  const torch::NoGradGuard no_gradients;
  model->eval();
  std::int64_t right = 0, all = 0;
  batches.Play(0, [&](const at::Tensor& images, const at::Tensor& labels) {
    const at::Tensor scores = model->forward(images) + model->forward(images.flip(3));
    right += scores.argmax(1).eq(labels).sum().item<std::int64_t>();
    all += labels.size(0);
  });
  model->train();
  return 100.0 * static_cast<double>(right) / static_cast<double>(std::max<std::int64_t>(all, 1));
}

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Arguments Parse(int argc, char** argv) {
  Arguments arguments;
  std::vector<std::string> paths;
  const std::map<std::string, std::function<void(const std::string&)>> options = {
      {"--loader", [&](const std::string& text) { arguments.loader = text; }},
      {"--epochs", [&](const std::string& text) { arguments.epochs = std::stoi(text); }},
      {"--steps", [&](const std::string& text) { arguments.steps = std::stoi(text); }},
      {"--width", [&](const std::string& text) { arguments.width = std::stoi(text); }},
      {"--cutout",
       [&](const std::string& text) {
         arguments.batches.cutout = static_cast<unsigned>(std::stoul(text));
       }},
      {"--batch",
       [&](const std::string& text) { arguments.batches.batch_size = std::stoul(text); }},
      {"--threads",
       [&](const std::string& text) {
         arguments.batches.threads = static_cast<unsigned>(std::stoul(text));
       }},
  };
  for (int i = 1; i < argc; ++i) {
    const auto option = options.find(argv[i]);
    if (option != options.end() && i + 1 < argc) {
      option->second(argv[++i]);
    } else {
      paths.emplace_back(argv[i]);
    }
  }
  const std::string& loader = arguments.loader;
  const unsigned cutout = arguments.batches.cutout;
  if (paths.size() != 2 || (loader != "sluice" && loader != "naive" && loader != "kept") ||
      cutout > 31 || (cutout > 0 && loader == "naive")) {
    throw std::invalid_argument(
        "usage: train_cifar [--loader sluice|naive|kept] [--epochs N] [--steps N] [--width N]\n"
        "                   [--cutout SIDE] [--batch N] [--threads N] TRAIN TEST\n"
        "--cutout: erases a square of SIDE pixels (1 to 31) in each training picture; not with\n"
        "          --loader naive");
  }
  arguments.train = paths[0];
  arguments.test = paths[1];
  return arguments;
}

int main(int argc, char** argv) try {
  Arguments arguments = Parse(argc, argv);
  if (torch::cuda::is_available()) {
    arguments.batches.device = at::Device(at::kCUDA, 0);
    at::globalContext().setBenchmarkCuDNN(true);  // all batches have the same shape
  }
  torch::manual_seed(0);
  nn::Sequential model = ResNet9(arguments.width);
  model->to(arguments.batches.device);
  torch::optim::SGD optimizer(
      model->parameters(),
      torch::optim::SGDOptions(0.1).momentum(0.9).nesterov(true).weight_decay(5e-4));
  const auto smoothed = nn::functional::CrossEntropyFuncOptions().label_smoothing(0.1);
  const auto train = Open(arguments, true), test = Open(arguments, false);
  const double all_steps =
      arguments.steps > 0 ? arguments.steps : double(train->per_epoch()) * arguments.epochs;

  int step = 0;
  double seconds = 0;
  for (int epoch = 0; step < all_steps && epoch < arguments.epochs; ++epoch) {
    const Clock::time_point begin = Clock::now();
    Clock::time_point asked = begin;
    double waited = 0;  // seconds spent waiting for batches
    at::Tensor sum = torch::zeros({}, arguments.batches.device);
    int counted = 0;
    train->Play(static_cast<std::uint64_t>(epoch),
                [&](const at::Tensor& images, const at::Tensor& labels) {
                  if (step >= all_steps) return;
                  waited += SecondsSince(asked);
                  for (auto& group : optimizer.param_groups())
                    group.options().set_lr(LearningRate(++step / (all_steps + 1)));
                  optimizer.zero_grad();
                  const at::Tensor loss =
                      nn::functional::cross_entropy(model->forward(images), labels, smoothed);
                  loss.backward();
                  optimizer.step();
                  sum += loss.detach();  // stays on the device: nothing waits for it
                  ++counted;
                  asked = Clock::now();
                });
    // Waits until the device has finished.
    const double loss = sum.item<double>() / std::max(counted, 1);
    const double taken = SecondsSince(begin);
    seconds += taken;
    std::printf("epoch %d  loss %.4f  %.3f s", epoch, loss, taken);
    if (arguments.batches.device.is_cpu())
      std::printf(", waited %.3f ms a batch", 1e3 * waited / std::max(counted, 1));
    std::printf("\n");
    std::fflush(stdout);
  }
  std::printf("accuracy %.2f%% after %.1f s of training\n", Accuracy(model, *test), seconds);
  if (const std::string verdict = train->Verdict(); !verdict.empty())
    std::printf("%s\n", verdict.c_str());
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "train_cifar: %s\n", error.what());
  return 1;
}
