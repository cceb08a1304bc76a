// refrain.contracts/1 into a ContractFile. Unknown keys are refused: a misspelt
// `optional` or `outside` that was skipped would change a verdict in silence.
#include "audit/contracts/contract_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "audit/contracts/contract_json.hpp"
#include "graphs/error.hpp"
#include "graphs/text.hpp"

namespace refrain {
namespace {

constexpr const char* kSchema = "refrain.contracts/1";
constexpr std::size_t kDeepest = 16;  // brackets; a contract's accesses need six

nlohmann::json parse(std::string_view text, const std::string& file) {
  if (trim(skip_byte_order_mark(text)).empty())
    throw Error(ErrorKind::input, "byte 0", fmt::format("expected a {} object, found an empty file", kSchema), file);
  std::size_t depth = 0;
  const auto limit = [&](int, nlohmann::json::parse_event_t event, nlohmann::json&) {
    using Event = nlohmann::json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) ++depth;
    if (event == Event::object_end || event == Event::array_end) --depth;
    if (depth > kDeepest)
      throw Error(ErrorKind::input, "",
                  fmt::format("expected at most {} brackets inside each other, found more; flatten it", kDeepest),
                  file);
    return true;
  };
  try {
    return nlohmann::json::parse(text, limit);
  } catch (const nlohmann::json::parse_error& error) {
    throw Error(ErrorKind::input, fmt::format("byte {}", std::min(error.byte, text.size())),
                error.byte > text.size() ? "expected more JSON, found the end of the file; it is cut short"
                                         : "expected JSON, found a syntax error; mend this byte",
                file);
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorKind::input, "", "expected numbers below 2^63, found one that no number type holds; mend it",
                file);
  }
}

std::vector<std::pair<std::string, Dtype>> read_type_names(const JsonView& root) {
  std::vector<std::pair<std::string, Dtype>> names;
  if (const auto table = root.find("type_names"))
    table->each_member(
        [&](const std::string& name, const JsonView& dtype) { names.emplace_back(name, dtype.word<Dtype>()); });
  return names;
}

}  // namespace

std::size_t scalar_bytes(ScalarType type) noexcept {
  switch (type) {
    case ScalarType::i8:
    case ScalarType::u8: return 1;
    case ScalarType::i16:
    case ScalarType::u16: return 2;
    case ScalarType::i32:
    case ScalarType::u32: return 4;
    case ScalarType::i64:
    case ScalarType::u64: break;
  }
  return 8;
}

ContractFile read_contracts(std::string_view text, const std::string& file) {
  const nlohmann::json document = parse(skip_byte_order_mark(text), file);
  const JsonView root(document, file);
  root.check_object("a contract file", {"$schema", "schema", "about", "type_names", "contracts"});
  const JsonView schema = root.need("schema");
  if (schema.text() != kSchema) schema.fail(fmt::format("\"{}\"", kSchema), "this program reads no other");
  ContractFile out;
  out.path = file;
  out.type_names = read_type_names(root);
  const JsonView contracts = root.need("contracts");
  for (std::size_t i = 0; i < contracts.array_size(); ++i) {
    KernelContract contract = read_kernel_contract(contracts.at(i));
    for (const KernelContract& other : out.contracts)
      if (other.id == contract.id)
        contracts.at(i).need("id").fail("an id that no other contract of the file has", "rename one of them");
    out.contracts.push_back(std::move(contract));
  }
  return out;
}

ContractFile load_contracts(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw Error(ErrorKind::input, "reading", fmt::format("{}; check the path", std::strerror(errno)), path);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw Error(ErrorKind::input, "reading", "is a directory or cannot be read; name a file", path);
  return read_contracts(text.str(), path);
}

}  // namespace refrain
