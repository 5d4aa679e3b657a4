// The pictures that make_photos draws: ground under a sky, an object of the picture's class in
// front, another object behind it. Uses only arithmetic that gives the same result everywhere:
// sqrt(), floor() and round(), which are exact, but no function whose last digit differs between
// systems, such as sin().
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

// Random numbers of one picture: splitmix64 (Steele, Lea and Flood, 2014).
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t Next() {
    state_ += 0x9E3779B97F4A7C15u;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  float Between(float low, float high) {
    return low + (high - low) * static_cast<float>(Next() >> 40) * 0x1p-24F;
  }
  bool Chance(float probability) { return Between(0, 1) < probability; }

 private:
  std::uint64_t state_;
};

struct Color {
  float r = 0, g = 0, b = 0;
};

inline Color Mix(Color a, Color b, float t) {
  return {a.r + (b.r - a.r) * t, a.g + (b.g - a.g) * t, a.b + (b.b - a.b) * t};
}

// Converts hue, saturation and value in 0..1 to RGB in 0..255. A hue outside 0..1 wraps around.
inline Color FromHsv(float hue, float saturation, float value) {
  const auto channel = [&](float offset) {
    float h = hue + offset;
    h -= std::floor(h);
    const float ramp = std::clamp(std::fabs(h * 6 - 3) - 1, 0.0F, 1.0F);
    return 255 * value * (1 - saturation * (1 - ramp));
  };
  return {channel(0), channel(2.0F / 3), channel(1.0F / 3)};
}

// A rough surface, its values in -1..1: octaves of smoothly interpolated lattice noise. Each octave
// has half the wavelength of the one before, and `roughness` times its strength.
class Texture {
 public:
  Texture(Random& random, int width, int height, float wavelength, float roughness)
      : width_(width), values_(static_cast<std::size_t>(width) * height, 0.0F) {
    float strength = 1, total = 0;
    for (; wavelength >= 1.5F; wavelength /= 2, strength *= roughness) {
      AddOctave(random, height, wavelength, strength);
      total += strength;
    }
    for (float& value : values_)
      value /= total;
  }
  float At(int x, int y) const { return values_[static_cast<std::size_t>(y) * width_ + x]; }

 private:
  void AddOctave(Random& random, int height, float wavelength, float strength) {
    const int columns = static_cast<int>(static_cast<float>(width_) / wavelength) + 2;
    const int rows = static_cast<int>(static_cast<float>(height) / wavelength) + 2;
    std::vector<float> lattice(static_cast<std::size_t>(columns) * rows);
    for (float& value : lattice)
      value = random.Between(-strength, strength);
    std::vector<float> row(columns);
    for (int y = 0; y < height; ++y) {
      const auto [top, down] = Cell(y, wavelength);
      const float* upper = &lattice[static_cast<std::size_t>(top) * columns];
      for (int i = 0; i < columns; ++i)
        row[i] = upper[i] + (upper[i + columns] - upper[i]) * down;
      float* out = &values_[static_cast<std::size_t>(y) * width_];
      for (int x = 0; x < width_; ++x) {
        const auto [left, across] = Cell(x, wavelength);
        out[x] += row[left] + (row[left + 1] - row[left]) * across;
      }
    }
  }
  struct Position {
    int cell;
    float weight;  // of the next lattice point, eased in and out
  };
  static Position Cell(int x, float wavelength) {
    const float position = static_cast<float>(x) / wavelength;
    const int cell = static_cast<int>(position);
    const float t = position - static_cast<float>(cell);
    return {cell, t * t * (3 - 2 * t)};
  }

  int width_;
  std::vector<float> values_;
};

// The shapes of the classes. A shape's function takes a point in units of the shape's size, and
// returns how far outside (positive) or inside (negative) the shape the point lies, in about the
// same units.
struct Shape {
  const char* name;
  float (*distance)(float x, float y);
};
inline constexpr std::array<Shape, 10> kShapes = {{
    {"bar", [](float x, float y) { return std::max(std::fabs(x) - 1.1F, std::fabs(y) - 0.3F); }},
    {"bowl", [](float x, float y) { return std::max(std::sqrt(x * x + y * y) - 1, -y); }},
    {"cross",
     [](float x, float y) {
       const float u = std::fabs(x), v = std::fabs(y);
       return std::max(std::max(u, v) - 1, std::min(u, v) - 0.28F);
     }},
    {"diamond", [](float x, float y) { return (std::fabs(x) + std::fabs(y) - 1.1F) * 0.7F; }},
    {"disc", [](float x, float y) { return std::sqrt(x * x + y * y) - 0.9F; }},
    {"grid",
     [](float x, float y) {
       const float u = std::fabs(x * 2 - std::round(x * 2)),
                   v = std::fabs(y * 2 - std::round(y * 2));
       return std::max(std::max(std::fabs(x), std::fabs(y)) - 1, (0.3F - std::max(u, v)) * 0.5F);
     }},
    {"moon",
     [](float x, float y) {
       const float bite = std::sqrt((x - 0.5F) * (x - 0.5F) + y * y);
       return std::max(std::sqrt(x * x + y * y) - 1, 0.8F - bite);
     }},
    {"ring", [](float x, float y) { return std::fabs(std::sqrt(x * x + y * y) - 0.75F) - 0.22F; }},
    {"square", [](float x, float y) { return std::max(std::fabs(x), std::fabs(y)) - 0.85F; }},
    {"triangle",
     [](float x, float y) { return std::max(-y - 0.6F, std::fabs(x) * 0.87F + y * 0.5F - 0.5F); }},
}};

// A random place in the picture, a size, an angle, and a direction of light.
struct Placement {
  float x, y, size, cosine, sine, light_x, light_y;

  Placement(Random& random, float width, float height, float smallest, float largest) {
    size = random.Between(smallest, largest) * std::min(width, height);
    x = random.Between(0.3F, 0.7F) * width;
    y = random.Between(0.3F, 0.7F) * height;
    // Draws the tangent of half the angle, which gives both values without sin() and cos().
    const float t = random.Between(-0.35F, 0.35F);
    cosine = (1 - t * t) / (1 + t * t);
    sine = 2 * t / (1 + t * t);
    light_x = random.Between(-0.5F, 0.5F);
    light_y = random.Between(-0.6F, -0.2F);
  }
  float Distance(const Shape& shape, float px, float py) const {
    const float u = (px - x) / size, v = (py - y) / size;
    return shape.distance(u * cosine + v * sine, v * cosine - u * sine);
  }
  float Light(float px, float py) const {
    return std::clamp(1 + ((px - x) * light_x + (py - y) * light_y) / size * 0.5F, 0.5F, 1.4F);
  }
};

// The random choices for one picture, made once; At() then computes the colour of each pixel.
class Scene {
 public:
  Scene(Random& random, std::size_t label, int width, int height)
      // The braces of land_ and skin_ make their random draws from left to right. With parentheses,
      // the order would depend on the compiler.
      : width_(static_cast<float>(width)),
        height_(static_cast<float>(height)),
        land_{random, width, height, width_ / random.Between(2, 5), random.Between(0.7F, 1)},
        skin_{random, width, height, width_ / random.Between(8, 30), random.Between(0.75F, 1)},
        shape_(kShapes[label % kShapes.size()]),
        other_(kShapes[random.Next() % kShapes.size()]),
        subject_(random, width_, height_, 0.24F, 0.4F),
        behind_(random, width_, height_, 0.08F, 0.2F) {
    behind_.x = random.Between(0, 1) * width_;
    behind_.y = random.Between(0, 1) * height_;
    // Steps of the golden ratio keep the hues of any number of classes apart.
    const float hue = static_cast<float>(label) * 0.618034F;
    const auto color = [&](float low_hue, float high_hue, float low_saturation, float saturation,
                           float low_value, float value) {
      const float h = random.Between(low_hue, high_hue);
      const float s = random.Between(low_saturation, saturation);
      return FromHsv(h, s, random.Between(low_value, value));
    };
    sky_ = color(0, 1, 0.05F, 0.4F, 0.6F, 1);
    haze_ = color(0, 1, 0, 0.3F, 0.5F, 1);
    ground_ = color(hue + 0.3F, hue + 0.7F, 0.1F, 0.6F, 0.25F, 0.6F);
    paint_ = color(hue - 0.07F, hue + 0.07F, 0.45F, 0.9F, 0.45F, 0.95F);
    clutter_ = color(0, 1, 0, 0.7F, 0.2F, 0.8F);
    horizon_ = height_ * random.Between(0.25F, 0.75F);
    hills_ = height_ * random.Between(0, 0.3F);
    relief_ = random.Between(60, 130);
  }

  Color At(int x, int y) const {
    const auto px = static_cast<float>(x), py = static_cast<float>(y);
    const float land = land_.At(x, y), skin = skin_.At(x, y);
    Color color = Mix(sky_, haze_, std::clamp(py / horizon_, 0.0F, 1.0F));
    float bumps = land * relief_ * 0.4F;
    // `depth`: how far inside the object this pixel lies, in pixels (the edge blends over one);
    // `texture`: the object's bumps here, in -1..1.
    const auto cover = [&](Color with, float depth, float texture) {
      const float share = std::clamp(depth + 0.5F, 0.0F, 1.0F);
      color = Mix(color, with, share);
      bumps += (texture * relief_ - bumps) * share;
    };
    const float below = py - horizon_ - land * hills_;  // pixels under the horizon
    cover(Mix(haze_, ground_, std::clamp(below / (height_ * 0.3F), 0.4F, 1.0F)), below,
          land + skin);
    cover(clutter_, -behind_.Distance(other_, px, py) * behind_.size, land);
    const float to_shadow =
        subject_.Distance(shape_, px - subject_.size * 0.1F, py - subject_.size * 0.12F);
    color = Mix(color, {}, std::clamp(0.2F - to_shadow * 2, 0.0F, 0.45F));
    const float light = subject_.Light(px, py);
    cover({paint_.r * light, paint_.g * light, paint_.b * light},
          -subject_.Distance(shape_, px, py) * subject_.size, skin * 0.8F);
    return {color.r + bumps, color.g + bumps, color.b + bumps};
  }

 private:
  float width_, height_;
  Texture land_, skin_;
  const Shape& shape_;
  const Shape& other_;
  Placement subject_, behind_;
  Color sky_, haze_, ground_, paint_, clutter_;
  float horizon_ = 0, hills_ = 0;  // the horizon's y and the hills' height, in pixels
  float relief_ = 0;               // how much bumps change a colour, of 255
};
