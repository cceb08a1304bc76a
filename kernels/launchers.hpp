// The launchers, declared once for the ops' tables and their own files. Callers
// reach them through Op::launch; each stands in `<op>.cu`. In a build without
// CUDA every name is a null pointer, so the tables read the same in both.
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

#ifdef REFRAIN_HAS_CUDA
void argmax_launch(const ArgmaxArgs& args, void* stream);
void convert_launch(const ConvertArgs& args, void* stream);
void embed_launch(const EmbedArgs& args, void* stream);
void gemm_launch(const GemmArgs& args, void* stream);
void gemm_launch_early(const GemmArgs& args, void* stream);
void grouped_attention_launch(const GroupedAttentionArgs& args, void* stream);
void grouped_attention_launch_early(const GroupedAttentionArgs& args, void* stream);
void kv_append_launch(const KvAppendArgs& args, void* stream);
void kv_append_launch_early(const KvAppendArgs& args, void* stream);
void merge_mla_launch(const MergeMlaArgs& args, void* stream);
void mla_append_launch(const MlaAppendArgs& args, void* stream);
void pad_fix_launch(const PadFixArgs& args, void* stream);
void pad_fix_launch_early(const PadFixArgs& args, void* stream);
void page_split_launch(const PageSplitArgs& args, void* stream);
void plan_grouped_launch(const PlanGroupedArgs& args, void* stream);
void plan_grouped_launch_early(const PlanGroupedArgs& args, void* stream);
void plan_xqa_launch(const PlanXqaArgs& args, void* stream);
void plan_xqa_launch_early(const PlanXqaArgs& args, void* stream);
void rms_norm_launch(const RmsNormArgs& args, void* stream);
void rms_norm_launch_early(const RmsNormArgs& args, void* stream);
void rope_append_launch(const RopeAppendArgs& args, void* stream);
void rope_append_launch_early(const RopeAppendArgs& args, void* stream);
void sample_launch(const SampleArgs& args, void* stream);
void select_recent_launch(const SelectRecentArgs& args, void* stream);
void select_slots_launch(const SelectSlotsArgs& args, void* stream);
void silu_mul_launch(const SiluMulArgs& args, void* stream);
void silu_mul_launch_early(const SiluMulArgs& args, void* stream);
void ring_give_launch(const RingGiveArgs& args, void* stream);
void ring_take_launch(const RingTakeArgs& args, void* stream);
void sparse_mla_decode_launch(const SparseMlaArgs& args, void* stream);
void sparse_mla_prefill_launch(const SparseMlaArgs& args, void* stream);
void verify_draft_launch(const VerifyDraftArgs& args, void* stream);
void xqa_decode_launch(const XqaDecodeArgs& args, void* stream);
void xqa_decode_launch_early(const XqaDecodeArgs& args, void* stream);
#else
inline constexpr void (*argmax_launch)(const ArgmaxArgs&, void*) = nullptr;
inline constexpr void (*convert_launch)(const ConvertArgs&, void*) = nullptr;
inline constexpr void (*embed_launch)(const EmbedArgs&, void*) = nullptr;
inline constexpr void (*gemm_launch)(const GemmArgs&, void*) = nullptr;
inline constexpr void (*gemm_launch_early)(const GemmArgs&, void*) = nullptr;
inline constexpr void (*grouped_attention_launch)(const GroupedAttentionArgs&, void*) = nullptr;
inline constexpr void (*grouped_attention_launch_early)(const GroupedAttentionArgs&, void*) = nullptr;
inline constexpr void (*kv_append_launch)(const KvAppendArgs&, void*) = nullptr;
inline constexpr void (*kv_append_launch_early)(const KvAppendArgs&, void*) = nullptr;
inline constexpr void (*merge_mla_launch)(const MergeMlaArgs&, void*) = nullptr;
inline constexpr void (*mla_append_launch)(const MlaAppendArgs&, void*) = nullptr;
inline constexpr void (*pad_fix_launch)(const PadFixArgs&, void*) = nullptr;
inline constexpr void (*pad_fix_launch_early)(const PadFixArgs&, void*) = nullptr;
inline constexpr void (*page_split_launch)(const PageSplitArgs&, void*) = nullptr;
inline constexpr void (*plan_grouped_launch)(const PlanGroupedArgs&, void*) = nullptr;
inline constexpr void (*plan_grouped_launch_early)(const PlanGroupedArgs&, void*) = nullptr;
inline constexpr void (*plan_xqa_launch)(const PlanXqaArgs&, void*) = nullptr;
inline constexpr void (*plan_xqa_launch_early)(const PlanXqaArgs&, void*) = nullptr;
inline constexpr void (*rms_norm_launch)(const RmsNormArgs&, void*) = nullptr;
inline constexpr void (*rms_norm_launch_early)(const RmsNormArgs&, void*) = nullptr;
inline constexpr void (*rope_append_launch)(const RopeAppendArgs&, void*) = nullptr;
inline constexpr void (*rope_append_launch_early)(const RopeAppendArgs&, void*) = nullptr;
inline constexpr void (*sample_launch)(const SampleArgs&, void*) = nullptr;
inline constexpr void (*select_recent_launch)(const SelectRecentArgs&, void*) = nullptr;
inline constexpr void (*select_slots_launch)(const SelectSlotsArgs&, void*) = nullptr;
inline constexpr void (*silu_mul_launch)(const SiluMulArgs&, void*) = nullptr;
inline constexpr void (*silu_mul_launch_early)(const SiluMulArgs&, void*) = nullptr;
inline constexpr void (*ring_give_launch)(const RingGiveArgs&, void*) = nullptr;
inline constexpr void (*ring_take_launch)(const RingTakeArgs&, void*) = nullptr;
inline constexpr void (*sparse_mla_decode_launch)(const SparseMlaArgs&, void*) = nullptr;
inline constexpr void (*sparse_mla_prefill_launch)(const SparseMlaArgs&, void*) = nullptr;
inline constexpr void (*verify_draft_launch)(const VerifyDraftArgs&, void*) = nullptr;
inline constexpr void (*xqa_decode_launch)(const XqaDecodeArgs&, void*) = nullptr;
inline constexpr void (*xqa_decode_launch_early)(const XqaDecodeArgs&, void*) = nullptr;
#endif

}  // namespace refrain
