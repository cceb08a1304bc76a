#include "kernels/embed.hpp"

#include "tests/catch.hpp"
#include "tests/kernels/check_writes.hpp"
#include "tests/kernels/decoder_cases.hpp"
#include "tests/kernels/reservation.hpp"

using namespace refrain;
using namespace refrain::test;

TEST_CASE("embed: every row is its token's or zeros and every byte of it is written") {
  embed_cases([](const EmbedArgs& args, Memory& memory) { run_checked(embed, args, memory); });
}

TEST_CASE("embed: a row beyond 2^31 elements of the table is found") {
  constexpr std::int32_t kVocab = 300'000, kWidth = 8192;  // 2,457,600,000 elements
  const Reservation table(std::size_t{kVocab} * kWidth * 2);
  auto* elements = reinterpret_cast<std::uint16_t*>(table.data());
  elements[std::int64_t{kVocab} * kWidth - 1] = 0x1234;
  elements[std::int64_t{262'144} * kWidth] = 0x5678;  // 2^31
  const std::int32_t ids[] = {kVocab - 1, 262'144}, rows = 2;
  std::vector<std::uint16_t> out(2 * kWidth, 0xFFFF);
  embed.host({.ids = ids,
              .rows = &rows,
              .table = table.data(),
              .dtype = Dtype::fp16,
              .bucket = 2,
              .vocab = kVocab,
              .width = kWidth,
              .out = out.data()});
  CHECK(out[kWidth - 1] == 0x1234);
  CHECK(out[kWidth] == 0x5678);
}

TEST_CASE("embed: the contract reads somewhere in the table and writes every row") {
  Memory memory;
  const std::int32_t ids[4] = {}, rows = 4;
  const EmbedArgs args{.ids = ids,
                       .rows = &rows,
                       .table = memory.take<std::uint16_t>(10 * 6),
                       .dtype = Dtype::bf16,
                       .bucket = 4,
                       .vocab = 10,
                       .width = 6,
                       .out = memory.take<std::uint16_t>(4 * 6)};
  int weights = 0, writes = 0;
  for (const Access& access : embed.contract(args).accesses) {
    if (access.role == Role::weights) {
      ++weights;
      CHECK(access.reach == Reach::may);
      CHECK(access.mode == Mode::read);
      CHECK(access.range == ByteRange{0, 120});
    }
    if (access.mode == Mode::read) continue;
    ++writes;
    CHECK(access.base == reinterpret_cast<Address>(args.out));
    CHECK(access.range == ByteRange{0, 48});
    CHECK(access.reach == Reach::exact);
    CHECK(access.dtype == Dtype::bf16);
  }
  CHECK(weights == 1);
  CHECK(writes == 1);
}

TEST_CASE("embed: the cases see a pad row that gets its id's token", "[!shouldfail]") {
  embed_cases([](EmbedArgs args, Memory&) {
    args.rows = &args.bucket;
    embed.host(args);
  });
}
