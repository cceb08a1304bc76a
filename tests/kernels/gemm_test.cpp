#include "kernels/gemm.hpp"

#include <tuple>

#include "graphs/error.hpp"
#include "kernels/codec.hpp"
#include "kernels/gemm_plans.hpp"
#include "tests/catch.hpp"
#include "tests/kernels/check_writes.hpp"
#include "tests/kernels/decoder_cases.hpp"

using namespace refrain;
using namespace refrain::test;

TEST_CASE("gemm: every output agrees with fp64 and NaN in pad rows changes no bit of a real row") {
  for (const GemmRows rows : {GemmRows::any, GemmRows::few})
    gemm_cases([](const GemmArgs& args, Memory& memory) { run_checked(gemm, args, memory); }, rows);
}

TEST_CASE("gemm: the cases see a sum that is kept in sixteen bits", "[!shouldfail]") {
  gemm_cases(
      [](const GemmArgs& args, Memory&) {
        for (std::int64_t row = 0; row < args.bucket; ++row)
          for (std::int64_t column = 0; column < args.n; ++column) {
            float sum = args.bias == nullptr ? 0 : load_as_float(args.bias, args.out_dtype, column);
            for (std::int64_t i = 0; i < args.k; ++i) {
              sum += load_as_float(args.a, args.dtype, row * args.k + i) *
                     load_as_float(args.w, args.dtype, column * args.k + i);
              sum = fp16_to_float(float_to_fp16(sum));
            }
            store_from_float(args.out, args.out_dtype, row * args.n + column, sum);
          }
      },
      GemmRows::any);
}

TEST_CASE("gemm: the cases see a weight matrix that is not transposed", "[!shouldfail]") {
  gemm_cases(
      [](const GemmArgs& args, Memory& memory) {
        std::byte* turned =
            memory.take_bytes(std::size_t{2} * static_cast<std::size_t>(args.n) * static_cast<std::size_t>(args.k));
        for (std::int64_t i = 0; i < args.n; ++i)
          for (std::int64_t j = 0; j < args.k; ++j)
            store_from_float(turned, args.dtype, i * args.k + j, load_as_float(args.w, args.dtype, j * args.n + i));
        GemmArgs wrong = args;
        wrong.w = turned;
        gemm.host(wrong);
      },
      GemmRows::any);
}

TEST_CASE("gemm: few rows start early and read their weights before they wait and others do neither") {
  const std::uint16_t words[1] = {};
  for (const auto& [bucket, k, few] : {std::tuple{16, 128, true}, {1, 4096, true}, {17, 128, false}, {8, 64, false}}) {
    CAPTURE(bucket, k);
    const Contract contract = gemm.contract({.a = words, .w = words + 1, .bucket = bucket, .n = 32, .k = k});
    CHECK((contract.waits == few && contract.triggers == few && !contract.triggers_first));
    for (const Access& access : contract.accesses) CHECK(access.before_wait == (few && access.role == Role::weights));
  }
}

TEST_CASE("gemm: two by three times three by two and a bias") {
  const float a[] = {1, 2, 3, 4, 5, 6}, w[] = {1, 0, -1, 2, 2, 2}, bias[] = {10, 20};
  std::uint16_t a_bits[6], w_bits[6];
  float out[4];
  for (std::int64_t i = 0; i < 6; ++i) {
    store_from_float(a_bits, Dtype::fp16, i, a[i]);
    store_from_float(w_bits, Dtype::fp16, i, w[i]);
  }
  gemm.host({.a = a_bits,
             .w = w_bits,
             .bias = bias,
             .dtype = Dtype::fp16,
             .out_dtype = Dtype::fp32,
             .bucket = 2,
             .n = 2,
             .k = 3,
             .out = out});
  CHECK(out[0] == 1 - 3 + 10);
  CHECK(out[1] == 2 + 4 + 6 + 20);
  CHECK(out[2] == 4 - 6 + 10);
  CHECK(out[3] == 8 + 10 + 12 + 20);
}

TEST_CASE("gemm: the contract names bias and workspace where there are any") {
  std::uint16_t a[6], w[6], bias[2], out[4];
  std::byte workspace[64];
  GemmArgs args{.a = a, .w = w, .bucket = 2, .n = 2, .k = 3, .out = out};
  CHECK(gemm.contract(args).accesses.size() == 3);
  args.bias = bias;
  args.workspace = workspace;
  args.workspace_bytes = 64;
  const Contract contract = gemm.contract(args);
  REQUIRE(contract.accesses.size() == 5);
  CHECK(contract.accesses[2].range == ByteRange{0, 8});
  CHECK(contract.accesses[2].mode == Mode::write);
  CHECK(contract.accesses[2].reach == Reach::exact);
  CHECK(contract.accesses[3].base == reinterpret_cast<Address>(bias));
  CHECK(contract.accesses[4].base == reinterpret_cast<Address>(workspace));
  CHECK(contract.accesses[4].role == Role::workspace);
  CHECK(contract.accesses[4].reach == Reach::may);
}

TEST_CASE("gemm: plans from a library that is not there are an error that names it") {
  try {
    GemmPlans plans(0, "libno-such-blas.so");
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).find("libno-such-blas.so") != std::string::npos);
#ifdef REFRAIN_HAS_CUDA
    CHECK(std::string(error.what()).find("libcublas-13-0") != std::string::npos);
#else
    CHECK(std::string(error.what()).find("REFRAIN_CUDA=ON") != std::string::npos);
#endif
  }
}
