#include "kernels/rms_norm.hpp"

#include <limits>

#include "kernels/codec.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/check_writes.hpp"
#include "tests/kernels/decoder_cases.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

/// One row of bf16 with weight 1.
struct Row {
  explicit Row(const std::vector<float>& values) {
    const auto width = static_cast<std::int32_t>(values.size());
    auto* x = memory.take<std::uint16_t>(width);
    auto* weight = memory.take<std::uint16_t>(width);
    for (std::int32_t i = 0; i < width; ++i) {
      x[i] = float_to_bf16(values[static_cast<std::size_t>(i)]);
      weight[i] = float_to_bf16(1);
    }
    args = {.x = x, .weight = weight, .rows = &rows, .eps = 0, .bucket = 1, .width = width, .out = nullptr};
    args.out = memory.take<std::uint16_t>(width);
  }
  [[nodiscard]] float out(std::int64_t i) const { return load_as_float(args.out, Dtype::bf16, i); }

  std::int32_t rows = 1;
  Memory memory;
  RmsNormArgs args;
};

}  // namespace

TEST_CASE("rms_norm: every row agrees with fp64 and pad rows and their residuals become zeros") {
  rms_norm_cases([](const RmsNormArgs& args, Memory& memory) { run_checked(rms_norm, args, memory); });
}

TEST_CASE("rms_norm: the cases see a wrong eps", "[!shouldfail]") {
  rms_norm_cases([](RmsNormArgs args, Memory&) {
    args.eps = 1e-6f;
    rms_norm.host(args);
  });
}

TEST_CASE("rms_norm: the cases see a residual that is not written back", "[!shouldfail]") {
  rms_norm_cases([](const RmsNormArgs& args, Memory& memory) {
    const Memory::Photo given = memory.photo();
    rms_norm.host(args);
    if (args.residual == nullptr) return;
    const std::size_t residual_block = 3;
    std::memcpy(args.residual, given[residual_block].data(), given[residual_block].size());
  });
}

TEST_CASE("rms_norm: 3 and 4 have a root mean square of 5 over the root of 2") {
  Row row({3, 4});
  rms_norm.host(row.args);
  CHECK(row.out(0) == Approx(3 * std::sqrt(2.0) / 5).epsilon(0x1p-8));
  CHECK(row.out(1) == Approx(4 * std::sqrt(2.0) / 5).epsilon(0x1p-8));
}

TEST_CASE("rms_norm: a NaN or an infinity is not hidden and squares beyond fp32 give zeros") {
  Row nan({1, std::numeric_limits<float>::quiet_NaN()});
  rms_norm.host(nan.args);
  CHECK(std::isnan(nan.out(0)));
  CHECK(std::isnan(nan.out(1)));
  Row infinite({1, std::numeric_limits<float>::infinity()});
  rms_norm.host(infinite.args);
  CHECK(infinite.out(0) == 0);
  CHECK(std::isnan(infinite.out(1)));
  Row large({1e20f, 1});
  rms_norm.host(large.args);
  CHECK(large.out(0) == 0);
  CHECK(large.out(1) == 0);
}

TEST_CASE("rms_norm: the contract reads and writes the residual where there is one") {
  Row row({1, 2, 3});
  CHECK(rms_norm.contract(row.args).accesses.size() == 4);
  row.args.residual = row.memory.take<std::uint16_t>(3);
  const Contract contract = rms_norm.contract(row.args);
  REQUIRE(contract.accesses.size() == 5);
  const Access& residual = contract.accesses.back();
  CHECK(residual.base == reinterpret_cast<Address>(row.args.residual));
  CHECK(residual.range == ByteRange{0, 6});
  CHECK(residual.mode == Mode::read_write);
  CHECK(residual.reach == Reach::exact);
}

TEST_CASE("rms_norm: where only x is new all other reads come before the wait and no write does") {
  Row row({1, 2, 3});
  row.args.residual = row.memory.take<std::uint16_t>(3);
  for (const bool done : {false, true}) {
    row.args.rest_is_done = done;
    const Contract contract = rms_norm.contract(row.args);
    CHECK((contract.waits && contract.triggers && contract.triggers_first));
    CHECK(contract.accesses.size() == (done ? 6 : 5));
    for (const Access& access : contract.accesses)
      CHECK(access.before_wait ==
            (done && access.mode == Mode::read && access.base != reinterpret_cast<Address>(row.args.x)));
  }
}
