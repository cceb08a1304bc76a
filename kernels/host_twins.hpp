// The host twins, declared once for the ops' tables and their own files. Callers
// reach them through Op::host; each twin stands in `<op>_host.cpp`.
#pragma once

namespace refrain {

struct ArgmaxArgs;
struct ConvertArgs;
struct EmbedArgs;
struct GemmArgs;
struct GroupedAttentionArgs;
struct KvAppendArgs;
struct MergeMlaArgs;
struct MlaAppendArgs;
struct PadFixArgs;
struct PageSplitArgs;
struct PlanGroupedArgs;
struct PlanXqaArgs;
struct RmsNormArgs;
struct RopeAppendArgs;
struct SampleArgs;
struct SelectRecentArgs;
struct SelectSlotsArgs;
struct SiluMulArgs;
struct RingGiveArgs;
struct RingTakeArgs;
struct SparseMlaArgs;
struct VerifyDraftArgs;
struct XqaDecodeArgs;

void argmax_host(const ArgmaxArgs& args);
void convert_host(const ConvertArgs& args);
void embed_host(const EmbedArgs& args);
void gemm_host(const GemmArgs& args);
void grouped_attention_host(const GroupedAttentionArgs& args);
void kv_append_host(const KvAppendArgs& args);
void merge_mla_host(const MergeMlaArgs& args);
void mla_append_host(const MlaAppendArgs& args);
void pad_fix_host(const PadFixArgs& args);
void page_split_host(const PageSplitArgs& args);
void plan_grouped_host(const PlanGroupedArgs& args);
void plan_xqa_host(const PlanXqaArgs& args);
void rms_norm_host(const RmsNormArgs& args);
void rope_append_host(const RopeAppendArgs& args);
void sample_host(const SampleArgs& args);
void select_recent_host(const SelectRecentArgs& args);
void select_slots_host(const SelectSlotsArgs& args);
void silu_mul_host(const SiluMulArgs& args);
void ring_give_host(const RingGiveArgs& args);
void ring_take_host(const RingTakeArgs& args);
void sparse_mla_decode_host(const SparseMlaArgs& args);
void sparse_mla_prefill_host(const SparseMlaArgs& args);
void verify_draft_host(const VerifyDraftArgs& args);
void xqa_decode_host(const XqaDecodeArgs& args);

}  // namespace refrain
