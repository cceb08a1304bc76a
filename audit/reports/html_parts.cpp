#include "audit/reports/html_parts.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "audit/reports/escape.hpp"
#include "audit/reports/groups.hpp"
#include "audit/reports/html_style.hpp"

namespace refrain {
namespace {

/// A name from a trace may be megabytes long.
constexpr std::size_t kLongestText = 1000, kLongestReason = 500;
constexpr std::size_t kMostFacts = 40;

std::string text_of(std::string_view text, std::size_t longest = kLongestText) {
  return xml(shortened(visible(text.substr(0, 4 * longest)), longest));
}

std::string evidence_of(const Finding& finding) {
  if (finding.evidence.empty()) return {};
  std::string list = "<ul>\n";
  for (std::size_t i = 0; i < std::min(finding.evidence.size(), kMostFacts); ++i)
    list += fmt::format("<li>{}</li>\n", text_of(finding.evidence[i]));
  if (finding.evidence.size() > kMostFacts)
    list += fmt::format("<li>{} not shown</li>\n", plural(finding.evidence.size() - kMostFacts, "more fact"));
  return list + "</ul>\n";
}

}  // namespace

std::string html_head(std::string_view title, std::string_view style) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
      "base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<title>{}</title>\n<style>{}{}</style>\n</head>\n<body>\n"
      "<a class=\"skip\" href=\"#findings\">Skip to the findings</a>\n",
      text_of(title), html_style(), style);
}

std::string html_finding(const Finding& finding, std::size_t number, std::string_view places) {
  std::string out = fmt::format(
      "<article id=\"finding-{0}\" class=\"{1}\" aria-labelledby=\"finding-title-{0}\">\n"
      "<h4 id=\"finding-title-{0}\"><span class=\"severity\">{1}</span> <a href=\"#finding-{0}\">{2} {3}</a>: "
      "{4}</h4>\n",
      number, to_string(finding.severity), finding.rule, finding.name, text_of(finding.where));
  if (finding.standing != Standing::open)
    out += fmt::format("<p><strong>{}</strong> {}</p>\n", to_string(finding.standing), text_of(finding.excuse));
  out += fmt::format("<p>{}</p>\n{}<p><strong>Fix:</strong> {}</p>\n{}", text_of(finding.message), evidence_of(finding),
                     text_of(finding.fix), places);
  return out + fmt::format("<p class=\"soft\">{}; input <code>{}</code>; fingerprint <code>{}</code></p>\n</article>\n",
                           to_string(finding.certainty), text_of(finding.input), finding.fingerprint);
}

std::string html_not_checked(const Report& report) {
  std::string out =
      "<section id=\"not-checked\" aria-labelledby=\"not-checked-title\"><h2 id=\"not-checked-title\">Not "
      "checked</h2>\n";
  if (report.not_checked().empty()) return out + "<p>Every rule was checked.</p></section>\n";
  out +=
      "<table><caption>Rules that could not look, and why</caption><thead><tr><th scope=\"col\">Rules</th>"
      "<th scope=\"col\">Reason</th></tr></thead><tbody>\n";
  for (const ReasonRules& item : not_checked_by_reason(report))
    out += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", item.rules,
                       text_of(item.reason, kLongestReason));
  return out + "</tbody></table></section>\n";
}

std::string shortened(std::string text, std::size_t longest) {
  std::size_t characters = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = (static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U;
    if (begins && ++characters > longest) return text.substr(0, i) + "\xE2\x80\xA6";
  }
  return text;
}

}  // namespace refrain
