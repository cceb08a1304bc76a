// The scenes of the two sparse MLA reports, for the twins' tests and the kernels':
// masked chunks, and one page whose slot 0 holds what it should not.
#pragma once

#include <algorithm>
#include <vector>

#include "tests/kernels/mla_scene.hpp"

namespace refrain::test {

/// Row 0 leads with masked entries up to the chunk's width, row 1 is whole, row 2 has nothing.
inline MlaScene masked_chunks(std::int32_t chunk, Rng& rng) {
  MlaScene scene({.rows = 3, .heads = 64, .topk = 128, .pages = 4, .chunk = chunk}, rng);
  scene.put_random(0, chunk, chunk + 32, rng);
  scene.put_random(1, 0, 128, rng);
  scene.fill_attended(rng);
  return scene;
}

enum class Slot0 : std::uint8_t { ones, random, zeros };

/// One 64-token page of 584-byte records; every third row's list is full, the others' end in -1 after 20 to 60 of 64.
inline MlaScene one_page(std::int32_t rows, Slot0 content, Rng& rng) {
  MlaScene scene({.rows = rows, .heads = 16, .topk = 64, .record = MlaRecord::e4m3_584, .pages = 1, .chunk = 64}, rng);
  for (std::int32_t row = 0; row < rows; ++row) scene.put_random(row, 0, row % 3 == 0 ? 64 : 20 + row % 41, rng);
  scene.fill_attended(rng);
  std::vector<std::uint8_t> bytes(584, content == Slot0::ones ? 0xFF : 0x00);
  if (content == Slot0::random) {
    std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<std::uint8_t>(rng()); });
    bytes[17] = 0x7F;  // among 448 random codes a NaN is likely; here it is certain
  }
  scene.set_slot_bytes(0, bytes);
  return scene;
}

}  // namespace refrain::test
