// The contract engine: expressions, patterns, what a file may say, and what
// becomes of a node whose parameters do not hold what a contract asks for.
#include <fmt/format.h>

#include <map>
#include <sstream>

#include "graphs/error.hpp"
#include "tests/audit/contract_world.hpp"
#include "tests/catch.hpp"

using namespace refrain;
using namespace refrain::test;

namespace {

const std::vector<std::string> kNames = {"a", "b", "grid.x", "bytes(T)"};

std::int64_t value_of(const std::string& text) {
  const std::vector<Quantity> values = {{7, {}}, {-2, {}}, {40, {}}, {4, {}}};
  const Quantity quantity = Expression::parse(text, kNames).evaluate(values);
  INFO(text << ": " << quantity.problem);
  REQUIRE(quantity.value);
  return *quantity.value;
}

std::string problem_of(const std::string& text) {
  const std::vector<Quantity> values = {{7, {}}, {-2, {}}, {std::nullopt, "not there"}, {4, {}}};
  return Expression::parse(text, kNames).evaluate(values).problem;
}

std::string error_of(const std::string& text) {
  try {
    (void)Expression::parse(text, kNames);
  } catch (const ExpressionError& error) {
    return error.sentence;
  }
  return "";
}

/// One contract with a field replaced or added; `{}` stands for nothing.
std::string file_with(const std::map<std::string, std::string>& changes, const std::string& access = "") {
  std::map<std::string, std::string> fields = {
      {"id", R"("copy-rows")"},
      {"kernel", R"re({"regex": "copy_rows<([a-z]+), ([0-9]+)>\\(.*\\)"})re"},
      {"basis", R"({"rests_on": "header", "project": "mine", "version": "1"})"},
      {"values", R"({"rows": {"param": 2, "type": "i32"}, "width": {"group": 2}})"},
      {"types", R"({"T": {"group": 1}})"},
      {"accesses", fmt::format(R"([{}, {}])",
                               access.empty() ? R"js({"name": "in", "param": 1, "mode": "read", "role": "input",
                               "dtype": "T", "bytes": "rows * width * bytes(T)"})js"
                                              : access,
                               R"js({"name": "out", "param": 0, "mode": "write", "role": "workspace", "dtype": "T",
                               "bytes": "rows * width * bytes(T)"})js")}};
  for (const auto& [key, value] : changes) fields[key] = value;
  std::string contract;
  for (const auto& [key, value] : fields)
    if (!value.empty()) contract += fmt::format("{}\"{}\": {}", contract.empty() ? "" : ", ", key, value);
  return fmt::format(R"({{"schema": "refrain.contracts/1", "type_names": {{"float": "fp32"}}, "contracts": [{{{}}}]}})",
                     contract);
}

std::string read_error(const std::string& text) {
  try {
    (void)read_contracts(text, "f.json");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    return error.what();
  }
  return "none";
}

Graph graph_with(Params params, std::string name = "void copy_rows<float, 8>(float*, float const*, int)") {
  return chain_of({buffer("dst", 0x1000, 256), buffer("src", 0x2000, 256)},
                  {kernel(std::move(name), {4, 1, 1}, std::move(params))});
}

std::string reason_for(Graph graph, const std::string& file) {
  const Judged result = judge(std::move(graph), read_contracts(file, "f.json"));
  REQUIRE(result.coverage.nodes.size() == 1);
  CHECK(result.report.unknown_nodes == 1);
  CHECK(result.graph.nodes[0].accesses.empty());
  CHECK_FALSE(result.graph.nodes[0].has_contract);
  return result.coverage.nodes[0].reason;
}

const std::string kFile = file_with({{"kernel", R"re({"regex": "void copy_rows<([a-z]+), ([0-9]+)>\\(.*\\)"})re"}});

Params good() {
  return Params().add(Address{0x1000}).add(Address{0x2040}).add(std::int32_t{4});
}

}  // namespace

TEST_CASE("contracts: expressions follow the usual order and round down") {
  CHECK(value_of("2 + 3 * 4") == 14);
  CHECK(value_of("(2 + 3) * 4") == 20);
  CHECK(value_of("20 - 3 - 4") == 13);
  CHECK(value_of("a / 2") == 3);
  CHECK(value_of("a % 4") == 3);
  CHECK(value_of("ceil_div(a, 2)") == 4);
  CHECK(value_of("ceil_div(8, 2)") == 4);
  CHECK(value_of("min(a, 3, grid.x)") == 3);
  CHECK(value_of("max(b, 3)") == 3);
  CHECK(value_of("grid.x * bytes(T)") == 160);
  CHECK(value_of("a + b") == 5);
}

TEST_CASE("contracts: an expression without a number says why") {
  CHECK(problem_of("1 + grid.x") == "not there");
  CHECK(problem_of("a / (a - 7)") == "it divides by zero");
  CHECK(problem_of("b / 2") == "it divides negative numbers");
  CHECK(problem_of("9223372036854775807 + a") == "it is past 63 bits");
  CHECK(problem_of("9223372036854775807 * a") == "it is past 63 bits");
}

TEST_CASE("contracts: a wrong expression is an error with its column") {
  CHECK(error_of("") == "expected a number, a name or '(' at column 1");
  CHECK(error_of("2 *") == "expected a number, a name or '(' at column 4");
  CHECK(error_of("(2") == "expected ')' at column 3");
  CHECK(error_of("2 3") == "expected an operator or the end at column 3");
  CHECK(error_of("min(2)") == "expected ',' at column 6");
  CHECK(error_of("2 + c") == "expected one of a, b, grid.x, bytes(T); found c at column 5");
  CHECK(error_of("bytes(T") == "expected '(' and the name of a type, then ')' at column 6");
  CHECK(error_of("9223372036854775808") == "expected a number below 2^63 at column 1");
  CHECK(error_of(std::string(40, '(') + "1" + std::string(40, ')')) ==
        "expected at most 32 levels of parentheses at column 33");
}

TEST_CASE("contracts: a pattern is about the whole name and its groups are counted from one") {
  CHECK(KernelPattern::glob("ns::*kernel<?>", false).match("ns::my_kernel<4>"));
  CHECK(KernelPattern::glob("a*b*c", false).match("a1b2b3c"));
  CHECK_FALSE(KernelPattern::glob("kernel", false).match("my_kernel"));
  CHECK_FALSE(KernelPattern::glob("kernel?", false).match("kernel"));
  const auto groups = KernelPattern::regex("k<([a-z]+), ([0-9]+)>", false).match("k<float, 12>");
  REQUIRE(groups);
  CHECK(*groups == std::vector<std::string>{"float", "12"});
  CHECK_FALSE(KernelPattern::regex("k|m", false).match("kk"));
  CHECK(KernelPattern::regex("k|m", false).match("m"));
}

TEST_CASE("contracts: a node gets the ranges that its parameters say") {
  const Judged result = judge(graph_with(good()), read_contracts(kFile, "f.json"));
  const Node& node = result.graph.nodes[0];
  REQUIRE(node.accesses.size() == 2);
  // 4 rows of 8 floats; the source begins 0x40 bytes into its buffer.
  CHECK(node.accesses[0].buffer == 1);
  CHECK(node.accesses[0].range == ByteRange{0x40, 0x40 + 128});
  CHECK(node.accesses[1].buffer == 0);
  CHECK(node.accesses[1].range == ByteRange{0, 128});
  CHECK(node.accesses[1].dtype == Dtype::fp32);
  CHECK(node.accesses[1].role == Role::workspace);
  CHECK(result.coverage.uses[0].fits == 1);
  CHECK(result.coverage.uses[0].given == 1);
}

TEST_CASE("contracts: a pointer inside a struct that is passed by value is reached by its offset") {
  struct Rows {
    std::int32_t count;
    Address in;
  };
  const std::string file = file_with({{"kernel", R"({"glob": "*"})"},
                                      {"types", ""},
                                      {"values", R"({"rows": {"param": 0, "at": 0, "type": "i32"}})"},
                                      {"accesses", R"([{"name": "in", "param": 0, "at": 8, "mode": "read",
                                       "role": "input", "bytes": "rows * 4"}])"}});
  const Judged result = judge(graph_with(Params().add(Rows{3, 0x2000})), read_contracts(file, "f.json"));
  REQUIRE(result.graph.nodes[0].accesses.size() == 1);
  CHECK(result.graph.nodes[0].accesses[0].range == ByteRange{0, 12});
}

TEST_CASE("contracts: needs and gives stand over the range of their access") {
  const std::string file = file_with({{"kernel", R"re({"regex": "void copy_rows<([a-z]+), ([0-9]+)>\\(.*\\)"})re"},
                                      {"needs", R"([{"fact": "zeroed", "access": "in"}])"},
                                      {"gives", R"([{"fact": "finite", "access": "out"}])"},
                                      {"waits", "true"},
                                      {"triggers_first", "true"}});
  const Judged result = judge(graph_with(good()), read_contracts(file, "f.json"));
  const Node& node = result.graph.nodes[0];
  REQUIRE(node.needs.size() == 1);
  CHECK(node.needs[0].buffer == 1);
  CHECK(node.needs[0].range == ByteRange{0x40, 0x40 + 128});
  REQUIRE(node.gives.size() == 1);
  CHECK(node.gives[0].fact == Fact::finite);
  CHECK(node.gives[0].range == ByteRange{0, 128});
  CHECK(node.waits == std::optional(true));
  CHECK_FALSE(node.triggers);
  CHECK(node.triggers_first == std::optional(true));
}

TEST_CASE("contracts: what the parameters do not hold leaves the node unknown and is said") {
  CHECK(reason_for(graph_with(Params().add(Address{0x1000})), kFile) ==
        "in: it has 1 parameters in the graph, and no number 1");
  CHECK(reason_for(graph_with(Params().add(Address{0x1000}).add(Address{0x2000})), kFile) ==
        "in: its extent is not known: rows: it has 2 parameters in the graph, and no number 2");
  CHECK(reason_for(graph_with(Params().add(Address{0x1000}).add(std::int32_t{1}).add(std::int32_t{4})), kFile) ==
        "in: parameter 1 has 4 bytes, and none at [0, 8)");
  CHECK(reason_for(graph_with(Params().add(Address{0x1000}).add(Address{0x9000}).add(std::int32_t{4})), kFile) ==
        "in: no buffer of the graph holds its address 0x9000");
  CHECK(reason_for(graph_with(Params().add(Address{0x1000}).add(Address{0}).add(std::int32_t{4})), kFile) ==
        "in: its address is null");
  CHECK(reason_for(graph_with(Params().add(Address{0x1000}).add(Address{0x2000}).add(std::int32_t{-4})), kFile) ==
        "in: its extent comes out as -128");
  CHECK(reason_for(graph_with(good(), "void copy_rows<double, 8>(double*, double const*, int)"), kFile) ==
        "in: T: the file's type_names have no double");
  CHECK(reason_for(graph_with(good(), "void other<float>(int)"), kFile) == "no pattern fits its name");
  Graph bare = graph_with(good());
  for (Param& param : bare.nodes[0].params) param.bytes.clear();
  CHECK(reason_for(std::move(bare), kFile) == "in: the bytes of parameter 1 are not in the graph");
}

TEST_CASE("contracts: memory that was freed is no buffer to resolve to") {
  Graph graph = graph_with(good());
  graph.buffers[1].died = 7;
  CHECK(reason_for(std::move(graph), kFile) == "in: no buffer of the graph holds its address 0x2040");
}

TEST_CASE("contracts: an optional argument that is null is not used") {
  const std::string access = R"({"name": "in", "param": 1, "mode": "read", "role": "input", "bytes": "4",
                               "optional": true})";
  const Judged result =
      judge(graph_with(Params().add(Address{0x1000}).add(Address{0}).add(std::int32_t{4})),
            read_contracts(file_with({{"kernel", R"re({"regex": "void copy_rows<([a-z]+), ([0-9]+)>.*"})re"}}, access),
                           "f.json"));
  CHECK(result.graph.nodes[0].accesses.size() == 1);
  CHECK(result.report.unknown_nodes == 0);
}

TEST_CASE("contracts: bytes from outside hold at the start unless a node of the graph writes them") {
  const std::string access = R"js({"name": "in", "param": 1, "mode": "read", "role": "input", "dtype": "T",
                               "bytes": "rows * width * bytes(T)", "outside": "initialised_once"})js";
  const ContractFile file = read_contracts(
      file_with({{"kernel", R"re({"regex": "void copy_rows<([a-z]+), ([0-9]+)>\\(.*\\)"})re"}}, access), "f.json");
  const Judged alone = judge(graph_with(good()), file);
  CHECK(alone.report.findings().empty());
  REQUIRE(alone.graph.entry.size() == 1);
  CHECK(alone.graph.entry[0].range == ByteRange{0x40, 0x40 + 128});
  // The second node writes what the first one reads: it had to come before it.
  Graph graph = graph_with(good());
  graph.nodes.push_back(
      kernel(graph.nodes[0].name, {4, 1, 1}, Params().add(Address{0x2040}).add(Address{0x1000}).add(std::int32_t{4})));
  graph.edges = {{0, 1, EdgeKind::full}};
  const Judged late = judge(std::move(graph), file);
  REQUIRE(late.report.findings().size() == 1);
  CHECK(late.report.findings()[0].rule == "RF306");
  CHECK(late.report.findings()[0].nodes == std::vector<NodeId>{0});
}

TEST_CASE("contracts: a read to the end of a buffer ends where the graph writes") {
  const std::string file =
      file_with({{"kernel", R"({"glob": "*"})"},
                 {"types", ""},
                 {"values", ""},
                 {"accesses", R"([{"name": "table", "param": 1, "mode": "read", "reach": "may", "role": "weights",
        "bytes": "rest", "outside": "initialised_once"},
        {"name": "out", "param": 0, "mode": "write", "role": "output", "bytes": "64"}])"}});
  const Judged result =
      judge(graph_with(Params().add(Address{0x2080}).add(Address{0x2010})), read_contracts(file, "f.json"));
  CHECK(result.graph.nodes[0].accesses[0].range == ByteRange{0x10, 0x80});
  const Judged apart =
      judge(graph_with(Params().add(Address{0x1000}).add(Address{0x2010})), read_contracts(file, "f.json"));
  CHECK(apart.graph.nodes[0].accesses[0].range == ByteRange{0x10, 256});
}

TEST_CASE("contracts: the first file that fits wins and what the maker stated is never replaced") {
  const std::string other = file_with({{"id", R"("second")"},
                                       {"kernel", R"({"glob": "*copy_rows*"})"},
                                       {"types", ""},
                                       {"values", ""},
                                       {"accesses", "[]"}});
  Graph graph = graph_with(good());
  std::vector<ContractFile> two;
  two.push_back(read_contracts(other, "a.json"));
  two.push_back(read_contracts(kFile, "b.json"));
  const Judged result = judge(graph, two);
  CHECK(result.coverage.nodes[0].source == "a.json: second");
  CHECK(result.graph.nodes[0].accesses.empty());
  CHECK(result.coverage.uses[1].fits == 1);
  CHECK(result.coverage.uses[1].given == 0);
  graph.nodes[0].has_contract = true;
  const Judged own = judge(graph, read_contracts(kFile, "b.json"));
  CHECK(own.coverage.nodes[0].state == NodeCoverage::State::own);
  CHECK(own.graph.nodes[0].accesses.empty());
  CHECK(coverage_text(own.coverage, false).find("b.json: copy-rows fits no kernel") != std::string::npos);
}

TEST_CASE("contracts: rows with gaps between them are ranges of their own and too many are refused") {
  const std::string access = R"({"name": "in", "param": 1, "mode": "read", "role": "input", "bytes": "16",
                               "rows": "rows", "stride": "32"})";
  const std::string file =
      file_with({{"kernel", R"re({"regex": "void copy_rows<([a-z]+), ([0-9]+)>\\(.*\\)"})re"}}, access);
  const Judged result = judge(graph_with(good()), read_contracts(file, "f.json"));
  REQUIRE(result.graph.nodes[0].accesses.size() == 5);
  CHECK(result.graph.nodes[0].accesses[3].range == ByteRange{0x40 + 96, 0x40 + 112});
  CHECK(reason_for(graph_with(Params().add(Address{0x1000}).add(Address{0x2000}).add(std::int32_t{70'000})), file) ==
        "in: 70000 rows apart from each other, more than 65536");
}

TEST_CASE("contracts: every mistake of a file is one line with the place and what was expected") {
  const auto starts = [](const std::string& text, const std::string& sentence) {
    const std::string error = read_error(text);
    INFO(error);
    CHECK(error.starts_with("f.json: " + sentence));
    CHECK(error.find('\n') == std::string::npos);
  };
  starts("", "byte 0: expected a refrain.contracts/1 object, found an empty file");
  starts("{", "byte 1: expected more JSON, found the end of the file");
  starts("{]", "byte 2: expected JSON, found a syntax error");
  starts(std::string(20, '['), "expected at most 16 brackets inside each other");
  starts("[]", "expected a contract file as an object");
  starts("{}", "expected the key \"schema\"");
  starts(R"({"schema": "refrain.contracts/2", "contracts": []})", "schema: expected \"refrain.contracts/1\"");
  starts(R"({"schema": "refrain.contracts/1", "contract": []})", "expected a contract file with keys among");
  starts(R"({"schema": "refrain.contracts/1", "type_names": {"x": "fp8"}, "contracts": []})",
         "type_names.x: expected one of");
  const auto contract = [&](const std::map<std::string, std::string>& changes, const std::string& sentence) {
    starts(file_with(changes), "contracts[0]" + sentence);
  };
  contract({{"id", R"("")"}}, ".id: expected text");
  contract({{"ids", "1"}}, ": expected a contract with keys among");
  contract({{"kernel", "{}"}}, ".kernel: expected either a glob or a regex");
  contract({{"kernel", R"({"glob": "a", "regex": "b"})"}}, ".kernel: expected either a glob or a regex");
  contract({{"kernel", R"({"regex": "a("})"}}, ".kernel.regex: expected a POSIX extended regular expression (");
  contract({{"kernel", R"({"glob": "a", "name": "both"})"}}, ".kernel.name: expected demangled or mangled");
  contract({{"basis", ""}}, ": expected the key \"basis\"");
  contract({{"basis", R"({"rests_on": "hearsay"})"}}, ".basis.rests_on: expected one of documentation, header, source");
  contract({{"basis", R"({"rests_on": "header", "project": "p"})"}}, ".basis: expected the key \"version\"");
  contract({{"values", R"({"rows": {"param": 2, "type": "f32"}})"}}, ".values.rows.type: expected one of i8");
  contract({{"values", R"({"rows": {"group": 3}})"}}, ".values.rows.group: expected one of the pattern's 2 groups");
  contract({{"values", R"({"rows": {"group": 1, "param": 2}})"}},
           ".values.rows: expected either a group or a parameter");
  contract({{"values", R"({"min": {"group": 1}})"}}, ".values.min: expected a name of letters");
  contract({{"values", R"({"rows": {"param": -1, "type": "i32"}})"}},
           ".values.rows.param: expected a parameter's index");
  contract({{"types", R"({"T": {}})"}}, ".types.T: expected either a dtype or a group");
  contract({{"types", R"({"T": {"group": 0}})"}}, ".types.T.group: expected one of the pattern's 2 groups");
  contract({{"types", ""}}, ".accesses[0].dtype: expected one of unknown, u8");
  contract({{"values", ""}}, ".accesses[0].bytes: expected an expression (expected one of grid.x");
  contract({{"needs", R"([{"fact": "zeroed", "access": "on"}])"}}, ".needs[0].access: expected the name of one of");
  contract({{"gives", R"([{"fact": "clean", "access": "out"}])"}}, ".gives[0].fact: expected one of zeroed");
  contract({{"waits", "1"}}, ".waits: expected true or false");
  const auto access = [&](const std::string& fields, const std::string& sentence) {
    starts(file_with({}, R"({"name": "in", "param": 1, "mode": "read", "role": "input", )" + fields + "}"),
           "contracts[0].accesses[0]" + sentence);
  };
  access(R"("bytes": "rows", "rows": "4")", ": expected rows and stride together");
  access(R"("bytes": "rest")", ".bytes: expected an extent (`rest`");
  access(R"("bytes": 4)", ".bytes: expected a string");
  access(R"("bytes": "4", "outside": "always")", ".outside: expected one of initialised_once");
  access(R"("bytes": "4", "size": 4)", ": expected an access with keys among");
  starts(file_with({}, R"({"name": "out", "param": 1, "mode": "read", "role": "input", "bytes": "4"})"),
         "contracts[0].accesses[1].name: expected a name that no other access");
}
