#include "runtime/scales/source_manifest.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "graphs/error.hpp"
#include "graphs/json_view.hpp"
#include "runtime/scales/checkpoint.hpp"
#include "runtime/scales/json_text.hpp"
#include "runtime/scales/sha256.hpp"

namespace refrain {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSchema = "refrain.source-manifest/1";

[[noreturn]] void refuse(const SourceManifest& manifest, const std::string& what, const std::string& sentence) {
  throw Error(ErrorKind::refused, what, sentence, manifest.path);
}

}  // namespace

SourceManifest read_source_manifest(const InputFile& file) {
  const nlohmann::json root = read_json(file);
  const JsonView view(root, file.path());
  view.check_object("a source manifest", {"schema", "revision", "files"});
  if (view.need("schema").text() != kSchema)
    view.need("schema").fail(fmt::format("\"{}\"", kSchema), "give a source manifest");
  SourceManifest manifest{.path = file.path(), .revision = std::nullopt, .files = {}};
  if (const auto revision = view.find("revision")) manifest.revision = revision->text();
  view.need("files").each_member([&](const std::string& name, const JsonView& hash) {
    if (!stays_inside(name)) hash.fail("the hash of a file inside the checkpoint's folder", "correct the name");
    if (!is_sha256(hash.text())) hash.fail("a SHA-256", "write 64 lower-case hexadecimal digits");
    manifest.files[name] = hash.text();
  });
  return manifest;
}

void check_manifest(const SourceManifest& manifest, const std::string& revision,
                    const std::map<std::string, std::string>& known, const std::string& folder,
                    const HashProgress& progress) {
  if (manifest.revision && *manifest.revision != revision)
    refuse(manifest, "revision",
           fmt::format("expected {}, found {}; give the manifest of this revision", revision, *manifest.revision));
  for (const auto& [name, hash] : known)
    if (!manifest.files.contains(name))
      refuse(manifest, "files", fmt::format("expected {} among them, found no such entry; make it again", name));
  for (const auto& [name, expected] : manifest.files) {
    const auto found = known.find(name);
    const fs::path path = fs::path(folder) / name;
    std::error_code ignored;
    if (found == known.end() && !fs::exists(path, ignored))
      refuse(manifest, name, fmt::format("expected this file in {}, found none; fetch the checkpoint again", folder));
    const std::string hash = found != known.end() ? found->second : InputFile(path.string()).sha256(progress);
    if (hash != expected)
      refuse(manifest, name,
             fmt::format("expected SHA-256 {}, found {} in {}; fetch the checkpoint again", expected, hash, folder));
  }
}

}  // namespace refrain
