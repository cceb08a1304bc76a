// refrain serve as others call it: a script in, figures, JSON and metrics out.
#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/catch.hpp"
#include "tests/cli/program.hpp"

using namespace refrain::test;
using Json = nlohmann::ordered_json;

namespace {

/// A small server, with what stands in `more` instead of or beside its own options.
std::string options_with(const std::string& more) {
  std::map<std::string, std::string> options{
      {"--device", "host"},       {"--layers", "1"},      {"--width", "64"}, {"--heads", "2"},
      {"--head-dim", "64"},       {"--ffn", "64"},        {"--vocab", "50"}, {"--page-size", "16"},
      {"--context", "64"},        {"--decode-rows", "3"}, {"--speed", "0"},  {"--prefill-tokens", "6"},
      {"--prefill-requests", "2"}};
  std::istringstream words(more);
  for (std::string name, value; words >> name >> value;) options[name] = value;
  std::string text = "serve";
  for (const auto& [name, value] : options) text += " " + name + " " + value;
  return text;
}

constexpr const char* kScript =
    "{\"at_ms\": 5, \"prompt_tokens\": 9, \"seed\": 3, \"max_tokens\": 6}\n"
    "\n"
    "{\"prompt\": [1, 2, 3, 1, 2, 3], \"max_tokens\": 8}\n"
    "{\"prompt\": [4], \"max_tokens\": 9, \"cancel_after_tokens\": 2}\n"
    "{\"prompt\": [4, 5], \"max_tokens\": 99}\n"
    "{\"prompt\": [7, 7], \"max_tokens\": 5, \"temperature\": 0.8, \"top_k\": 5, \"top_p\": 0.9, \"seed\": 1}\n";

Outcome serve(const std::string& script, const std::string& more) {
  return refrain_program(options_with("--script " + temporary_file("serve.jsonl", script) + " " + more));
}

}  // namespace

TEST_CASE("program: serve answers a script and its JSON says what became of each line") {
  const Outcome outcome = serve(kScript, "--format json");
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.err.empty());
  const Json json = Json::parse(outcome.out);
  CHECK(json.begin().key() == "schema");
  CHECK(json.at("schema") == "refrain.serve/1");
  CHECK(json.at("coverage_ratio") == 1.0);
  const Json& requests = json.at("requests");
  REQUIRE(requests.size() == 5);
  CHECK(requests[0].at("line") == 1);
  CHECK(requests[0].at("tokens").size() == 6);
  CHECK(requests[0].at("prompt_tokens") == 9);
  CHECK(requests[1].at("finish") == "length");
  CHECK(requests[2].at("finish") == "cancelled");
  CHECK(requests[2].at("tokens").size() >= 2);
  CHECK(requests[2].at("tokens").size() < 9);
  CHECK(requests[3].at("refused").get<std::string>().find("over the context of 64") != std::string::npos);
  CHECK(requests[4].at("tokens").size() == 5);
  CHECK(json.at("refusals").at("count") == 1);
  CHECK(json.at("tokens_in") == 9 + 6 + 1 + 2);
  CHECK(json.at("first_token").at("count") == 4);
  CHECK(json.at("exit_code") == 0);
}

TEST_CASE("program: serve gives the same tokens whatever the batch and with drafts and with few pages") {
  const auto tokens = [](const std::string& more) {
    const Outcome outcome = serve(
        "{\"prompt\": [1, 2, 3, 1, 2, 3], \"max_tokens\": 30}\n{\"prompt\": [9, 9, 9], \"max_tokens\": 30}\n"
        "{\"prompt_tokens\": 20, \"seed\": 5, \"max_tokens\": 30}\n",
        "--format json " + more);
    INFO(outcome.err);
    REQUIRE(outcome.exit_code == 0);
    std::vector<Json> all;
    const Json json = Json::parse(outcome.out);
    for (const Json& request : json.at("requests")) all.push_back(request.at("tokens"));
    return all;
  };
  const auto alone = tokens("--decode-rows 1");
  CHECK(alone.size() == 3);
  CHECK(tokens("") == alone);
  CHECK(tokens("--drafts 2 --verify-requests 2") == alone);
  CHECK(tokens("--pages 6") == alone);
}

TEST_CASE("program: serve writes metrics and prints figures for people") {
  const std::string metrics = temporary_file("serve.prom", "old");
  const Outcome outcome = serve(kScript, "--metrics " + metrics);
  CHECK(outcome.exit_code == 0);
  for (const char* part : {"model ", "served ", "prefill ", "decode ", "100.00 % of them replays", "first token   p50 ",
                           "line 5: ", "fallbacks     0\n"})
    CHECK(outcome.out.find(part) != std::string::npos);
  const std::string text = read_text(metrics);
  CHECK(text.find("# HELP refrain_steps_total ") == 0);
  CHECK(text.find("refrain_requests_refused_total{reason=\"over the context\"} 1\n") != std::string::npos);
}

TEST_CASE("program: serve has a second model of attention layers alone") {
  const Outcome outcome = refrain_program(
      "serve --model attention_only --device host --width 64 --vocab 50 --context 64 --decode-rows 1 "
      "--prefill-tokens 2 --speed 0 --format json --script " +
      temporary_file("serve_attention.jsonl", "{\"prompt\": [1, 2, 3], \"max_tokens\": 3}\n"));
  INFO(outcome.err);
  CHECK(outcome.exit_code == 0);
  CHECK(Json::parse(outcome.out).at("requests").at(0).at("tokens").size() == 3);
}

TEST_CASE("program: serve names file and line of what it does not understand and serves nothing") {
  struct Case {
    const char *line, *said;
  };
  for (const auto& [line, said] :
       {Case{"{\"prompt\": [1}", "no JSON at byte"}, Case{"[1]", "a request as an object"},
        Case{"{\"prompt\": [1], \"max\": 2}", "found key \"max\""}, Case{"{}", "\"prompt\" or \"prompt_tokens\""},
        Case{"{\"prompt\": [1], \"prompt_tokens\": 2}", "\"prompt\" or \"prompt_tokens\""},
        Case{"{\"prompt\": [-1]}", "a token id"}, Case{"{\"prompt\": [1], \"at_ms\": -1}", "a time of 0 or more"},
        Case{"{\"prompt\": [1], \"max_tokens\": 1.5}", "a count of tokens"},
        Case{"{\"prompt\": [[[[1]]]]}", "lists inside lists"}}) {
    const Outcome outcome = serve(std::string("{\"prompt\": [1]}\n") + line + "\n", "");
    INFO(line << ": " << outcome.err);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.out.empty());
    CHECK(outcome.err.find("serve.jsonl:2: ") != std::string::npos);
    CHECK(outcome.err.find(said) != std::string::npos);
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  }
}

TEST_CASE("program: serve exits 2 with one line for options that no server can have") {
  for (const char* options :
       {"--speed -1", "--ring-depth 0", "--model gpt", "--decode-rows 0", "--pages 1", "--context 1", "--heads 0x",
        "--kv fp32", "--drafts -1", "--prefill-requests 0", "--script /nowhere.jsonl"}) {
    const Outcome outcome = serve("{\"prompt\": [1]}\n", options);
    INFO(options << ": " << outcome.err);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.out.empty());
    CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 1);
  }
  CHECK(serve("\n", "").err.find("expected one request a line, found none") != std::string::npos);
}
