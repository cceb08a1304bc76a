// mtp_verify: 1 + K query tokens a request through the decode kernels, and what the
// target accepts of the draft, against an oracle over the same logits; and which
// scales an E4M3 cache under a draft is admitted with.
#include <cstring>
#include <set>

#include "graphs/error.hpp"
#include "kernels/verify_draft_oracle.hpp"
#include "runtime/run.hpp"
#include "runtime/steps/mtp/drafts.hpp"
#include "runtime/verify.hpp"
#include "tests/catch.hpp"
#include "tests/runtime/test_driver.hpp"

using namespace refrain;

namespace {

StepOptions mtp(std::int32_t requests, DraftRule rule, std::int32_t context = 804) {
  StepOptions o;
  o.step = StepKind::mtp_verify;
  o.requests = requests;
  o.context = context;
  o.draft_rule = rule;
  o.allow_e4m3_mtp = true;
  return o;
}

RunResult run(const StepOptions& step) {
  const auto driver = test::make_test_driver();
  RunOptions options;
  options.step = step;
  RunResult result = run_step(*driver, options);
  CHECK(test::holds_nothing(*driver));
  return result;
}

std::vector<std::int32_t> numbers(const Output& output, std::size_t tensor) {
  std::vector<std::int32_t> out(output.bytes[tensor].size() / sizeof(std::int32_t));
  std::memcpy(out.data(), output.bytes[tensor].data(), output.bytes[tensor].size());
  return out;
}

DraftVerdict verdict_of(const DraftInputs& in, const StepOptions& o, std::size_t request) {
  const auto drafts = static_cast<std::size_t>(o.drafts), vocab = static_cast<std::size_t>(kDraftVocab);
  const auto length = static_cast<std::size_t>(in.lengths[request]);
  std::vector<double> uniforms;
  for (std::int32_t i = 0; i < in.lengths[request]; ++i)
    uniforms.push_back(static_cast<double>(
        draft_uniform(in.seed[0], in.seed[1], static_cast<std::int32_t>(request), i, Draw::accept)));
  DraftCase one;
  one.vocab = kDraftVocab;
  one.logits = std::span(in.logits).subspan(request * (1 + drafts) * vocab, (1 + length) * vocab);
  one.draft = std::span(in.tokens).subspan(request * drafts, length);
  if (!in.probs.empty()) one.probs = std::span(in.probs).subspan(request * drafts * vocab, length * vocab);
  one.uniforms = uniforms;
  one.greedy = o.draft_rule == DraftRule::greedy;
  return verify_draft_oracle(one);
}

/// Accepted counts and tokens of the run against the oracle; returns how many drafts were accepted in all.
std::int32_t check_against_oracle(const StepOptions& step) {
  const RunResult result = run(step);
  REQUIRE(result.replay);
  CHECK(result.exit_code() == 0);
  CHECK(result.replay->bit_equal);
  CHECK(result.replay->nan.count == 0);
  const StepOptions& o = result.options.step;
  const DraftInputs in(o);
  const std::vector<std::int32_t> accepted = numbers(result.replay->output, 2),
                                  tokens = numbers(result.replay->output, 3);
  const auto width = static_cast<std::size_t>(1 + o.drafts);
  std::int32_t all = 0;
  for (std::size_t request = 0; request < accepted.size(); ++request) {
    INFO("request " << request);
    const std::int32_t* row = tokens.data() + request * width;
    if (request >= static_cast<std::size_t>(o.requests)) {
      CHECK(accepted[request] == 0);
      for (std::size_t i = 0; i < width; ++i) CHECK(row[i] == -1);
      continue;
    }
    const DraftVerdict verdict = verdict_of(in, o, request);
    REQUIRE(verdict.margin > 1e-5);  // nearer than that fp32 may decide otherwise
    CHECK(accepted[request] == verdict.accepted);
    all += accepted[request];
    const auto kept = static_cast<std::size_t>(accepted[request]);
    for (std::size_t i = 0; i < kept; ++i) CHECK(row[i] == in.tokens[request * static_cast<std::size_t>(o.drafts) + i]);
    const double u = static_cast<double>(
        draft_uniform(in.seed[0], in.seed[1], static_cast<std::int32_t>(request), accepted[request], Draw::next));
    if (o.draft_rule == DraftRule::greedy)
      CHECK(verdict.next[static_cast<std::size_t>(row[kept])] == 1.0);
    else
      CHECK(draw_fits(verdict.next, row[kept], u, 1e-5 / verdict.mass));
    for (std::size_t i = kept + 1; i < width; ++i) CHECK(row[i] == -1);
  }
  return all;
}

}  // namespace

TEST_CASE("mtp: at 804 tokens a greedy draft of 4 is accepted as the oracle says") {
  const std::int32_t accepted = check_against_oracle(mtp(16, DraftRule::greedy));
  CHECK(accepted > 16);      // four of five draft tokens are the target's own
  CHECK(accepted < 4 * 16);  // and some are not
}

TEST_CASE("mtp: at 804 tokens a sampled draft of 4 is accepted as the oracle says") {
  const std::int32_t accepted = check_against_oracle(mtp(16, DraftRule::rejection));
  CHECK(accepted > 0);
  CHECK(accepted < 4 * 16);
}

TEST_CASE("mtp: lengths around the 804-token boundary and pad requests are right") {
  for (const std::int32_t context : {5, 799, 800, 803, 804, 805, 808})
    for (const std::int32_t bucket : {15, 18, 20, 25}) {
      INFO("context " << context << " bucket " << bucket);
      StepOptions o = mtp(3, DraftRule::greedy, context);
      o.bucket = bucket;
      check_against_oracle(o);
    }
}

TEST_CASE("mtp: a healthy step is clean over every axis, KV type and rule") {
  for (const Dtype kv : {Dtype::e4m3, Dtype::fp16, Dtype::bf16})
    for (const DraftRule rule : {DraftRule::greedy, DraftRule::rejection}) {
      StepOptions o = mtp(3, rule, 70);
      o.kv = kv;
      o.bucket = 20;
      const auto driver = test::make_test_driver();
      const VerifyResult result = verify_step(*driver, o);
      INFO(to_string(kv));
      for (const AxisResult& axis : result.axes) {
        INFO(axis.name << " " << axis.fill);
        CHECK(axis.finite);
        CHECK(axis.bit_equal);
      }
      CHECK(result.report.findings().empty());
      std::set<std::string> names;
      for (const AxisResult& axis : result.axes) names.insert(axis.name);
      CHECK(names.contains("drafts past length"));
      CHECK(names.contains("pad requests"));
      CHECK(names.contains("accepted and tokens"));
    }
}

TEST_CASE("mtp: E4M3 KV under a draft is admitted only where it is asked for") {
  StepOptions o = mtp(3, DraftRule::greedy);
  o.allow_e4m3_mtp = false;
  const auto driver = test::make_test_driver();
  try {
    (void)run_step(*driver, {o});
    FAIL("admitted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::refused);
    CHECK(std::string(error.what()).find("--allow-e4m3-mtp") != std::string::npos);
  }
  CHECK(test::holds_nothing(*driver));
  o.kv = Dtype::fp16;
  CHECK(run(o).exit_code() == 0);
}

TEST_CASE("mtp: a draft layer without a calibrated V scale is refused and named") {
  StepOptions o = mtp(3, DraftRule::greedy);
  o.faults.add(Fault::draft_scale_missing);
  const auto driver = test::make_test_driver();
  try {
    (void)run_step(*driver, {o});
    FAIL("admitted");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::refused);
    CHECK(std::string(error.what()).find("mtp.layers.0") != std::string::npos);
    CHECK(std::string(error.what()).find("v_scale") != std::string::npos);
  }
  CHECK(test::holds_nothing(*driver));
}
