#include "runtime/system/random.h"

#include <random>

namespace actord::runtime {

uint64_t Random::SystemSeed() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

}  // namespace actord::runtime
