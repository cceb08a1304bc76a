// SHA-256 of bytes that come in pieces, by OpenSSL's libcrypto. It names files and
// binds them to each other; it keeps no secret. A digest is 64 lower-case
// hexadecimal digits everywhere in this folder.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace refrain {

/// Throws Error{input} where libcrypto offers no SHA-256.
class Sha256 {
 public:
  Sha256();
  void update(std::span<const char> bytes);
  /// The digest of all that came in; nothing can follow.
  [[nodiscard]] std::string hex();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const noexcept;
  };
  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

[[nodiscard]] std::string sha256_hex(std::string_view bytes);

/// 64 lower-case hexadecimal digits.
[[nodiscard]] bool is_sha256(std::string_view text) noexcept;

}  // namespace refrain
