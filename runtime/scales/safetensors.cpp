#include "runtime/scales/safetensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "graphs/error.hpp"
#include "graphs/json_view.hpp"
#include "kernels/codec.hpp"
#include "runtime/scales/json_text.hpp"

namespace refrain {
namespace {

static_assert(std::endian::native == std::endian::little, "numbers in safetensors files are little-endian");

constexpr std::uint64_t kLengthBytes = 8;

struct ElementType {
  const char* name;
  std::uint64_t bits;
};

constexpr std::array kElementTypes = {
    ElementType{"BOOL", 8},        ElementType{"U8", 8},          ElementType{"I8", 8},   ElementType{"F8_E4M3", 8},
    ElementType{"F8_E5M2", 8},     ElementType{"F8_E8M0", 8},     ElementType{"F4", 4},   ElementType{"F6_E2M3", 6},
    ElementType{"F6_E3M2", 6},     ElementType{"I16", 16},        ElementType{"U16", 16}, ElementType{"F16", 16},
    ElementType{"BF16", 16},       ElementType{"I32", 32},        ElementType{"U32", 32}, ElementType{"F32", 32},
    ElementType{"I64", 64},        ElementType{"U64", 64},        ElementType{"F64", 64}, ElementType{"C64", 64},
    ElementType{"F8_E4M3FNUZ", 8}, ElementType{"F8_E5M2FNUZ", 8},
};

[[noreturn]] void fail(const std::string& path, const std::string& tried, const std::string& came_back) {
  throw Error(ErrorKind::input, tried, came_back, path);
}

/// Where the data begins; the header's text goes to `header`.
std::uint64_t read_header(const InputFile& file, std::string& header) {
  if (file.bytes() < kLengthBytes)
    fail(file.path(), "byte 0",
         fmt::format("expected a safetensors file of at least 8 bytes, found {}; fetch it again", file.bytes()));
  std::array<char, kLengthBytes> raw{};
  file.read_at(0, raw);
  const auto length = std::bit_cast<std::uint64_t>(raw);
  if (length > kLongestJson)
    fail(file.path(), "header length",
         fmt::format("expected at most {} bytes, found {}; this is no safetensors file", kLongestJson, length));
  if (length > file.bytes() - kLengthBytes)
    fail(file.path(), "header length",
         fmt::format("expected at most the {} bytes that follow, found {}; the file is cut short, fetch it again",
                     file.bytes() - kLengthBytes, length));
  header.resize(static_cast<std::size_t>(length));
  file.read_at(kLengthBytes, header);
  if (!header.starts_with('{')) fail(file.path(), "header byte 0", "expected {, found another byte; fetch it again");
  return kLengthBytes + length;
}

std::uint64_t type_bits(const JsonView& dtype) {
  const std::string& name = dtype.text();
  const auto type = std::find_if(kElementTypes.begin(), kElementTypes.end(),
                                 [&](const ElementType& known) { return name == known.name; });
  if (type == kElementTypes.end()) dtype.fail("a dtype of the safetensors format", "fetch the file again");
  return type->bits;
}

/// The product of the shape, which must give as many bytes as the offsets do.
std::uint64_t read_shape(const JsonView& view, std::uint64_t bits, TensorInfo& tensor) {
  const JsonView shape = view.need("shape");
  for (std::size_t i = 0; i < shape.array_size(); ++i) {
    tensor.shape.push_back(shape.at(i).size());
    if (__builtin_mul_overflow(tensor.elements, tensor.shape.back(), &tensor.elements))
      shape.fail("a shape of fewer than 2^64 elements", "fetch the file again");
  }
  std::uint64_t all_bits = 0;
  if (__builtin_mul_overflow(tensor.elements, bits, &all_bits) || all_bits % 8 != 0)
    shape.fail("a shape of whole bytes, fewer than 2^61", "fetch the file again");
  return all_bits / 8;
}

TensorInfo read_tensor(const std::string& name, const JsonView& view) {
  view.check_object("a tensor", {"dtype", "shape", "data_offsets"});
  TensorInfo tensor{.name = name, .dtype = view.need("dtype").text(), .shape = {}};
  const std::uint64_t bytes = read_shape(view, type_bits(view.need("dtype")), tensor);
  const JsonView offsets = view.need("data_offsets");
  const ByteRange range = offsets.range();
  if (range.end - range.begin != bytes)
    offsets.fail(fmt::format("{} bytes, as dtype and shape give", bytes), "fetch the file again");
  tensor.begin = range.begin;
  tensor.end = range.end;
  return tensor;
}

void check_layout(const std::map<std::string, TensorInfo>& tensors, std::uint64_t data_bytes, const std::string& path) {
  std::vector<const TensorInfo*> order;
  for (const auto& [name, tensor] : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const TensorInfo* a, const TensorInfo* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  std::uint64_t end = 0;
  for (const TensorInfo* tensor : order) {
    if (tensor->begin != end)
      fail(path, tensor->name,
           fmt::format("expected its data at byte {}, found {}: {}; fetch the file again", end, tensor->begin,
                       tensor->begin < end ? "two tensors overlap" : "bytes that no tensor names"));
    end = tensor->end;
  }
  if (end != data_bytes)
    fail(path, "length",
         fmt::format("expected {} bytes of data, found {}; {}, fetch it again", end, data_bytes,
                     data_bytes < end ? "the file is cut short" : "the file has a tail that no tensor names"));
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path) : file_(path) {
  std::string header;
  data_begin_ = read_header(file_, header);
  const nlohmann::json root = parse_json(header, path, "header ");
  JsonView(root, path).each_member([&](const std::string& name, const JsonView& view) {
    if (name != "__metadata__") {
      tensors_.emplace(name, read_tensor(name, view));
      return;
    }
    view.each_member([&](const std::string& key, const JsonView& value) { metadata_.emplace(key, value.text()); });
  });
  check_layout(tensors_, data_bytes(), path);
}

float SafetensorsFile::scalar(const std::string& name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) fail(file_.path(), name, "expected this tensor, found none; fetch the file again");
  const TensorInfo& tensor = found->second;
  const bool half = tensor.dtype == "F16", brain = tensor.dtype == "BF16";
  if (tensor.elements != 1 || !(half || brain || tensor.dtype == "F32"))
    fail(file_.path(), name,
         fmt::format("expected one F32, F16 or BF16 element, found {} of {}; only per-tensor scales are known",
                     tensor.elements, tensor.dtype));
  std::array<char, 4> raw{};
  file_.read_at(data_begin_ + tensor.begin, std::span(raw).first(static_cast<std::size_t>(tensor.end - tensor.begin)));
  const auto bits = std::bit_cast<std::uint32_t>(raw);
  if (half) return fp16_to_float(static_cast<std::uint16_t>(bits));
  if (brain) return bf16_to_float(static_cast<std::uint16_t>(bits));
  return std::bit_cast<float>(bits);
}

std::string write_safetensors(const std::map<std::string, float>& scalars,
                              const std::map<std::string, std::string>& metadata) {
  nlohmann::json header = nlohmann::json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t end = 0;
  std::string data;
  for (const auto& [name, value] : scalars) {
    header[name] = {{"dtype", "F32"}, {"shape", nlohmann::json::array()}, {"data_offsets", {end, end + sizeof value}}};
    end += sizeof value;
    const auto raw = std::bit_cast<std::array<char, sizeof value>>(value);
    data.append(raw.data(), raw.size());
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  const auto length = std::bit_cast<std::array<char, kLengthBytes>>(std::uint64_t{text.size()});
  return std::string(length.data(), length.size()) + text + data;
}

}  // namespace refrain
