#include "audit/review/review.hpp"

#include <utility>

#include "audit/audit.hpp"
#include "graphs/error.hpp"

namespace refrain {

Review review(Recording recording, const StepChoice& choice) {
  if (!recording.has_timeline)
    throw Error(ErrorKind::input, "reviewing",
                "holds graphs and no timeline: nothing to cut into steps; refrain audit checks graphs", recording.name);
  Review review;
  review.cut = cut_steps(recording.timeline, choice);
  review.steps = step_stats(recording.timeline, recording.graphs);
  review.totals = total(review.steps);
  review.subject.recordings.push_back(std::move(recording));
  review.report = audit(review.subject);
  return review;
}

}  // namespace refrain
