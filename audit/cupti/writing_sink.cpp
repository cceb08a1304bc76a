#include "audit/cupti/writing_sink.hpp"

namespace refrain {

void WritingSink::end(bool complete) {
  if (!writer_) return;
  try {
    if (complete) writer_->finish();
  } catch (const std::exception& error) {
    failure_ = error.what();
  }
  writer_.reset();
}

void WritingSink::flush_if_old() {
  const Clock::time_point now = Clock::now();
  if (now - flushed_ < std::chrono::seconds(1) || writer_->records() == flushed_records_) return;
  writer_->flush();
  flushed_ = now;
  flushed_records_ = writer_->records();
}

}  // namespace refrain
