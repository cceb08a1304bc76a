// A text file that appears whole or not at all. Until it is kept it has no name
// where the file system allows that, and a temporary one beside its place where it
// does not; so a program that is interrupted leaves nothing behind. A pipe or device
// is written to as it is. It is compressed where its name ends in `.gz`. Written as it
// comes, in bounded memory.
#pragma once

#include <string>
#include <string_view>

struct gzFile_s;

namespace refrain {

class OutputFile {
 public:
  /// The folder must exist. Throws Error{input}, as all of it does.
  explicit OutputFile(std::string path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  /// Without keep(): what was written is gone, and what stood at the path stays.
  ~OutputFile();

  void write(std::string_view text);
  /// Gives it its name, in place of what had it. Nothing can follow.
  void keep();

 private:
  [[noreturn]] void fail(int system);
  void close() noexcept;

  std::string path_, temporary_;
  int descriptor_ = -1;
  bool named_ = false;   ///< as `temporary_`
  bool direct_ = false;  ///< no file: what is written there cannot be taken back
  gzFile_s* stream_ = nullptr;
};

}  // namespace refrain
