#include "runtime/scales/provenance.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "graphs/error.hpp"
#include "graphs/json_view.hpp"
#include "runtime/scales/json_text.hpp"
#include "runtime/scales/sha256.hpp"

namespace refrain {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

Json to_json(const FileRef& ref) {
  return {{"path", ref.path}, {"bytes", ref.bytes}, {"sha256", ref.sha256}};
}

Json to_json(const std::optional<FileRef>& ref) {
  return ref ? to_json(*ref) : Json(nullptr);
}

FileRef read_ref(const JsonView& view) {
  view.check_object("a file", {"path", "bytes", "sha256"});
  FileRef ref{view.need("path").text(), view.need("bytes").size(), view.need("sha256").text()};
  if (!is_sha256(ref.sha256)) view.need("sha256").fail("a SHA-256", "materialize the overlay again");
  return ref;
}

/// A file of a folder, by a name that does not lead out of it.
FileRef read_inner_ref(const JsonView& view) {
  FileRef ref = read_ref(view);
  if (!stays_inside(ref.path)) view.need("path").fail("a name inside the folder", "materialize the overlay again");
  return ref;
}

FileRef read_own_ref(const JsonView& view, const char* name) {
  FileRef ref = read_ref(view);
  if (ref.path != name) view.need("path").fail(fmt::format("\"{}\"", name), "materialize the overlay again");
  return ref;
}

template <class Read>
std::optional<FileRef> optional_ref(const JsonView& parent, const char* key, const nlohmann::json& raw, Read read) {
  const JsonView view = parent.need(key);
  return raw.at(key).is_null() ? std::nullopt : std::optional(read(view));
}

void read_base(const JsonView& view, const nlohmann::json& raw, Provenance& provenance) {
  view.check_object("a base", {"path", "index", "files"});
  provenance.base = view.need("path").text();
  provenance.base_index = optional_ref(view, "index", raw, read_inner_ref);
  const JsonView files = view.need("files");
  for (std::size_t i = 0; i < files.array_size(); ++i) provenance.base_files.push_back(read_inner_ref(files.at(i)));
  if (provenance.base_files.empty()) files.fail("at least one file", "materialize the overlay again");
}

void read_scales(const JsonView& view, Provenance& provenance) {
  view.check_object("scales", {"target", "draft", "tensors"});
  provenance.target = view.need("target").size();
  provenance.draft = view.need("draft").size();
  const JsonView tensors = view.need("tensors");
  for (std::size_t i = 0; i < tensors.array_size(); ++i) provenance.tensors.push_back(tensors.at(i).text());
}

}  // namespace

std::string provenance_text(const Provenance& p) {
  Json files = Json::array();
  for (const FileRef& ref : p.base_files) files.push_back(to_json(ref));
  const Json json{{"schema", kProvenanceSchema},
                  {"tool", {{"name", "refrain"}, {"version", p.tool_version}}},
                  {"revision", p.revision},
                  {"base", {{"path", p.base}, {"index", to_json(p.base_index)}, {"files", std::move(files)}}},
                  {"report", to_json(p.report)},
                  {"source_manifest", to_json(p.source_manifest)},
                  {"overlay", to_json(p.overlay)},
                  {"merged_index", to_json(p.merged_index)},
                  {"scales", {{"target", p.target}, {"draft", p.draft}, {"tensors", p.tensors}}},
                  {"rules", scale_rules_json(p.rules)}};
  return json.dump(2) + "\n";
}

Provenance load_provenance(const std::string& overlay_folder) {
  const std::string path = (fs::path(overlay_folder) / kProvenanceName).string();
  std::error_code ignored;
  if (!fs::exists(path, ignored))
    throw Error(ErrorKind::input, "reading",
                "expected the provenance of a scale overlay, found no such file; without it an overlay is not whole, "
                "materialize it again",
                path);
  const nlohmann::json root = read_json(InputFile(path));
  const JsonView view(root, path);
  view.check_object("a provenance", {"schema", "tool", "revision", "base", "report", "source_manifest", "overlay",
                                     "merged_index", "scales", "rules"});
  if (view.need("schema").text() != kProvenanceSchema)
    view.need("schema").fail(fmt::format("\"{}\"", kProvenanceSchema), "read it with a version that knows its schema");
  Provenance provenance;
  provenance.tool_version = view.need("tool").need("version").text();
  provenance.revision = view.need("revision").text();
  read_base(view.need("base"), root.at("base"), provenance);
  provenance.report = read_ref(view.need("report"));
  provenance.source_manifest = optional_ref(view, "source_manifest", root, read_ref);
  provenance.overlay = read_own_ref(view.need("overlay"), kOverlayName);
  provenance.merged_index = read_own_ref(view.need("merged_index"), kIndexName);
  read_scales(view.need("scales"), provenance);
  provenance.rules = read_scale_rules(view.need("rules"));
  return provenance;
}

std::map<std::string, std::string> overlay_metadata(const Provenance& p) {
  std::map<std::string, std::string> metadata{{"format", "pt"},  // what other readers of such files look for
                                              {"refrain.schema", kProvenanceSchema},
                                              {"refrain.revision", p.revision},
                                              {"refrain.report_sha256", p.report.sha256}};
  if (p.base_index) metadata["refrain.base_index_sha256"] = p.base_index->sha256;
  return metadata;
}

FileRef hash_file(const InputFile& file, const std::string& path, const HashProgress& progress) {
  return {path, file.bytes(), file.sha256(progress)};
}

void check_bound(const FileRef& bound, const std::string& path, const std::string& what, const std::string& advice,
                 BindingCheck check, const HashProgress& progress) {
  const auto differs = [&](const std::string& expected, const std::string& found) {
    throw Error(ErrorKind::refused, what, fmt::format("expected {}, found {}; {}", expected, found, advice), path);
  };
  std::error_code problem;
  if (!fs::exists(path, problem) && !problem) differs("this file", "none");
  const InputFile file(path);
  if (file.bytes() != bound.bytes) differs(fmt::format("{} bytes", bound.bytes), fmt::format("{}", file.bytes()));
  if (check == BindingCheck::size) return;
  if (const std::string hash = file.sha256(progress); hash != bound.sha256) differs("SHA-256 " + bound.sha256, hash);
}

}  // namespace refrain
