#include "kernels/verify_draft.hpp"

#include <cassert>

#include "kernels/host_twins.hpp"
#include "kernels/launchers.hpp"
#include "kernels/touch_inputs.hpp"

namespace refrain {
namespace {

Contract verify_draft_contract(const VerifyDraftArgs& args) {
  assert(args.requests > 0 && args.drafts >= 0 && args.vocab > 0);
  assert(args.rule == DraftRule::greedy || args.seed != nullptr);
  const auto requests = elements(args.requests), drafts = elements(args.requests, args.drafts);
  const auto rows = elements(args.requests, 1 + args.drafts), vocab = elements(args.vocab);
  Contract contract;
  // Logits and probabilities come from the graph itself: what they are for is their buffer's to say.
  contract.accesses = {touch(args.logits, rows * vocab, Mode::read, Role::unknown, Dtype::fp32),
                       read_input(args.real_requests, 1, Dtype::i32),
                       touch(args.accepted, requests, Mode::write, Role::output, Dtype::i32),
                       touch(args.tokens, rows, Mode::write, Role::output, Dtype::i32)};
  if (args.drafts > 0) {
    contract.accesses.push_back(touch(args.draft_tokens, drafts, Mode::read, Role::unknown, Dtype::i32));
    contract.accesses.push_back(touch(args.draft_lengths, requests, Mode::read, Role::unknown, Dtype::i32));
  }
  if (args.rule == DraftRule::greedy) return contract;
  contract.accesses.push_back(read_input(args.seed, 2, Dtype::i64));
  if (args.draft_probs != nullptr)
    contract.accesses.push_back(touch(args.draft_probs, drafts * vocab, Mode::read, Role::unknown, Dtype::fp32));
  return contract;
}

}  // namespace

const Op<VerifyDraftArgs> verify_draft = {.name = "verify_draft",
                                          .contract = verify_draft_contract,
                                          .host = verify_draft_host,
                                          .launch = verify_draft_launch};

}  // namespace refrain
