#include "cli/serve_script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <random>

#include "graphs/error.hpp"
#include "graphs/json_view.hpp"

namespace refrain {
namespace {

constexpr std::uint64_t kMostPromptTokens = 1 << 20;
constexpr std::uint64_t kInt32 = std::uint64_t{1} << 31;
/// Of lists in an object: what a request is made of lies no deeper.
constexpr int kMostDepth = 3;

nlohmann::json parse(const std::string& text, const std::string& where) {
  try {
    return nlohmann::json::parse(text, [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
      if (depth > kMostDepth)
        throw Error(ErrorKind::input, "", "expected a request, found lists inside lists; see refrain serve --help",
                    where);
      return true;
    });
  } catch (const nlohmann::json::parse_error& error) {
    throw Error(ErrorKind::input, "",
                fmt::format("expected one JSON object, found no JSON at byte {} of the line; correct it", error.byte),
                where);
  }
}

std::vector<std::int32_t> ids(const JsonView& list) {
  std::vector<std::int32_t> out;
  for (std::size_t i = 0; i < list.array_size(); ++i)
    out.push_back(static_cast<std::int32_t>(list.at(i).integer("a token id", kInt32)));
  return out;
}

std::vector<std::int32_t> random_prompt(std::uint64_t tokens, std::uint64_t seed, std::int32_t vocabulary) {
  std::mt19937_64 random(seed);
  std::vector<std::int32_t> out;
  for (std::uint64_t i = 0; i < tokens; ++i)
    out.push_back(static_cast<std::int32_t>(random() % static_cast<std::uint64_t>(vocabulary)));
  return out;
}

void read_prompt(const JsonView& view, Request& request, std::int32_t vocabulary) {
  const auto given = view.find("prompt"), drawn = view.find("prompt_tokens");
  if (given.has_value() == drawn.has_value()) view.fail("either \"prompt\" or \"prompt_tokens\"", "give one of them");
  request.prompt =
      given ? ids(*given)
            : random_prompt(drawn->integer("a count of tokens", kMostPromptTokens), request.seed, vocabulary);
}

ScriptedRequest read_request(const JsonView& view, std::int32_t vocabulary) {
  view.check_object("a request", {"at_ms", "prompt", "prompt_tokens", "max_tokens", "temperature", "top_k", "top_p",
                                  "seed", "stop", "cancel_after_tokens"});
  ScriptedRequest out;
  Request& request = out.request;
  if (const auto at = view.find("at_ms")) {
    out.at_ms = at->number();
    if (out.at_ms < 0) at->fail("a time of 0 or more", "times count from the beginning");
  }
  if (const auto seed = view.find("seed")) request.seed = seed->size();
  if (const auto most = view.find("max_tokens"))
    request.max_tokens = static_cast<std::int32_t>(most->integer("a count of tokens", kInt32));
  if (const auto t = view.find("temperature")) request.temperature = static_cast<float>(t->number());
  if (const auto k = view.find("top_k")) request.top_k = static_cast<std::int32_t>(k->integer("a count", kInt32));
  if (const auto p = view.find("top_p")) request.top_p = static_cast<float>(p->number());
  if (const auto stop = view.find("stop")) request.stop = ids(*stop);
  if (const auto cancel = view.find("cancel_after_tokens")) out.cancel_after_tokens = cancel->size();
  read_prompt(view, request, vocabulary);
  return out;
}

}  // namespace

std::vector<ScriptedRequest> read_script(const std::string& file, std::int32_t vocabulary) {
  std::ifstream in(file);
  if (!in) throw Error(ErrorKind::input, "reading", fmt::format("{}; check the path", std::strerror(errno)), file);
  std::vector<ScriptedRequest> script;
  std::size_t number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string where = fmt::format("{}:{}", file, number);
    const nlohmann::json json = parse(line, where);
    script.push_back(read_request(JsonView(json, where), vocabulary));
    script.back().line = number;
  }
  if (in.bad()) throw Error(ErrorKind::input, "reading", "the file could not be read to its end", file);
  if (script.empty())
    throw Error(ErrorKind::input, "", "expected one request a line, found none; see refrain serve --help", file);
  std::stable_sort(script.begin(), script.end(),
                   [](const ScriptedRequest& a, const ScriptedRequest& b) { return a.at_ms < b.at_ms; });
  return script;
}

}  // namespace refrain
