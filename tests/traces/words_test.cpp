// The words of the enumerators: the names that the recordings of today are read with tomorrow.
#include "traces/words.hpp"

#include <cctype>
#include <set>
#include <string>

#include "tests/catch.hpp"
#include "traces/cut_steps.hpp"

using namespace refrain;

namespace {

/// `name_of` gives "?" for a number that is no enumerator, by a switch that the compiler checks.
template <class Enum, class NameOf>
std::size_t check_words(NameOf name_of) {
  std::set<std::string> words;
  std::size_t i = 0;
  for (; name_of(static_cast<Enum>(i)) != std::string("?"); ++i) {
    const std::string word = word_of(static_cast<Enum>(i));
    INFO(i << " " << word);
    CHECK(words.insert(word).second);
    CHECK(find_word<Enum>(word) == static_cast<Enum>(i));
    for (const char c : word) CHECK((std::islower(c) || std::isdigit(c) || c == '_'));
  }
  CHECK(word_of(static_cast<Enum>(i)) == std::string("?"));
  return i;
}

}  // namespace

TEST_CASE("words: every enumerator has a word of its own that leads back to it") {
  CHECK(check_words<Api>([](Api api) { return to_string(api); }) > 70);
  CHECK(check_words<Target>([](Target target) { return to_string(target); }) == 11);
  CHECK(check_words<CaptureMode>([](CaptureMode mode) { return to_string(mode); }) == 3);
  const auto check_name = [](CheckKind kind) {
    switch (kind) {
      case CheckKind::poison:
      case CheckKind::repeat:
      case CheckKind::eager: return "named";
    }
    return "?";
  };
  CHECK(check_words<CheckKind>(check_name) == 3);
  const auto basis_name = [](StepBasis basis) { return to_string(basis) == std::string("unknown") ? "?" : "named"; };
  CHECK(check_words<StepBasis>(basis_name) == 7);
}

TEST_CASE("words: they are the enumerators' names, not CUDA's, and nothing near them is taken for one") {
  CHECK(word_of(Api::stream_synchronize) == std::string("stream_synchronize"));
  CHECK(word_of(Api::malloc) == std::string("malloc"));
  CHECK(word_of(Api::cublas_gemm_own_workspace) == std::string("cublas_gemm_own_workspace"));
  CHECK(word_of(Target::cuda_malloc_pointer) == std::string("cuda_malloc_pointer"));
  CHECK(word_of(CaptureMode::thread_local_) == std::string("thread_local"));
  CHECK(word_of(CheckKind::repeat) == std::string("repeat"));
  for (const char* word : {"", "?", "Malloc", "mallo", "mallocs", "cudaMalloc", " malloc"})
    CHECK_FALSE(find_word<Api>(word).has_value());
  CHECK_FALSE(find_word<CaptureMode>("thread_local_").has_value());
}
