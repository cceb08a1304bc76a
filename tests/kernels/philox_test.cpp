#include "kernels/philox.hpp"

#include <array>

#include "kernels/verify_draft.hpp"
#include "tests/catch.hpp"

using namespace refrain;

namespace {

std::array<std::uint32_t, 4> drawn(PhiloxCounter counter, PhiloxKey key) {
  const PhiloxCounter out = philox4x32_10(counter, key);
  return {out.words[0], out.words[1], out.words[2], out.words[3]};
}

constexpr std::uint32_t kOnes = 0xFFFFFFFF;

}  // namespace

TEST_CASE("philox: the published known answers come out") {
  CHECK(drawn({{0, 0, 0, 0}}, {{0, 0}}) ==
        std::array<std::uint32_t, 4>{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8});
  CHECK(drawn({{kOnes, kOnes, kOnes, kOnes}}, {{kOnes, kOnes}}) ==
        std::array<std::uint32_t, 4>{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD});
  // Digits of pi, as published.
  CHECK(drawn({{0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}}, {{0xA4093822, 0x299F31D0}}) ==
        std::array<std::uint32_t, 4>{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1});
}

TEST_CASE("philox: a uniform lies in 0 to 1 without 1 and is exact in fp32") {
  CHECK(uniform_of(0) == 0.0f);
  CHECK(uniform_of(0xFF) == 0.0f);
  CHECK(uniform_of(0x80000000) == 0.5f);
  CHECK(uniform_of(kOnes) == 1.0f - 0x1p-24f);
  CHECK(uniform_of(0x00000100) == 0x1p-24f);
}

TEST_CASE("verify_draft draws: seed and offset and request and position and purpose each change the number") {
  const float base = draft_uniform(1, 2, 3, 4, Draw::accept);
  CHECK(draft_uniform(1, 2, 3, 4, Draw::accept) == base);
  CHECK(draft_uniform(2, 2, 3, 4, Draw::accept) != base);
  CHECK(draft_uniform(1 + (1ull << 32), 2, 3, 4, Draw::accept) != base);
  CHECK(draft_uniform(1, 3, 3, 4, Draw::accept) != base);
  CHECK(draft_uniform(1, 2 + (1ull << 32), 3, 4, Draw::accept) != base);
  CHECK(draft_uniform(1, 2, 4, 4, Draw::accept) != base);
  CHECK(draft_uniform(1, 2, 3, 5, Draw::accept) != base);
  CHECK(draft_uniform(1, 2, 3, 4, Draw::next) != base);
}

TEST_CASE("verify_draft draws: the counter is offset low then high then request then twice the position plus purpose") {
  const PhiloxCounter out = philox4x32_10({{0x9ABCDEF0, 0x12345678, 7, 2 * 3 + 1}}, {{0x55667788, 0x11223344}});
  CHECK(draft_uniform(0x1122334455667788, 0x123456789ABCDEF0, 7, 3, Draw::next) == uniform_of(out.words[0]));
}
