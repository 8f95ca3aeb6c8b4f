// Which target belongs to a merge, or to what a person typed: asks images, artifacts and builds in this order.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <unordered_map>

#include "gate/base/process.hpp"
#include "gate/targets/artifacts.hpp"
#include "gate/targets/builds.hpp"
#include "gate/targets/history_refs.hpp"
#include "gate/targets/images.hpp"
#include "gate/targets/target.hpp"

namespace nightgate::targets {
namespace {

bool is_path(std::string_view text) {
  return text.starts_with('/') || text.starts_with("./") || text.starts_with("../") || text == "." || text == "..";
}

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// Of projects without targets: what changes when the programs that are measured change.
std::string digest_of_programs(const config::Config& config) {
  std::string text = config.project;
  for (const config::Scenario& scenario : config.scenarios) {
    const auto* command = std::get_if<config::CommandLoad>(&scenario.load);
    if (command == nullptr) continue;
    for (const std::string& argument : command->argv) text += "\n" + argument;
    const auto found = find_program(command->argv.front());
    const auto bytes = read_file(found ? *found : config.directory / command->argv.front(), std::size_t{1} << 30U);
    if (bytes) text += "\n" + sha256_hex(*bytes);
  }
  return "sha256:" + sha256_hex(text);
}

class ConfiguredFinder final : public Finder {
 public:
  ConfiguredFinder(const config::Config& config, History* history, std::unique_ptr<Images> images)
      : config_(config), history_(history), images_(std::move(images)) {
    if (config_.targets.build && history != nullptr) builds_.emplace(config_, *history);
  }

  Result<Found> find(const Merge& merge) override {
    NG_TRY(auto found, find_all({merge}));
    return std::move(found.front());
  }

  Result<std::vector<Found>> find_all(const std::vector<Merge>& merges) override {
    NG_CHECK(ask_images(merges));
    std::vector<Found> out;
    for (const Merge& merge : merges) {
      auto known = known_.find(merge.commit);
      if (known == known_.end()) {
        NG_TRY(Found found, find_here(merge));
        known = known_.emplace(merge.commit, std::move(found)).first;
      }
      NG_TRY(Found found, build_instead(merge, known->second));
      out.push_back(std::move(found));
    }
    return out;
  }

  Result<Target> parse(std::string_view reference) override {
    std::string text(reference);
    if (text.empty())
      return fail(Code::usage, "a target is missing: give a commit, a tag, a path or an image reference");
    if (is_path(text)) return directory(text);
    std::vector<std::string> tried;
    const bool like_image = text.find_first_of(":@") != std::string::npos && !history::read_date(text);
    if (images_ && like_image) return images_->parse(text);
    if (history_ != nullptr) {
      auto target = commit(text);
      if (target || target.error().code != Code::not_found || is_special(text)) return target;
      tried.push_back(target.error().message);
    } else if (is_special(text)) {
      return fail(Code::usage, "\"" + text + "\" needs the project's \"repository\" in the config");
    }
    if (auto target = directory(text)) return target;
    tried.push_back("there is no directory of that name");
    if (images_ && text.find('/') != std::string::npos) {  // a bare word is no image: it would be looked for in public
      auto target = images_->parse(text);
      if (target) return target;
      tried.push_back(target.error().message);
    }
    return fail(Code::not_found, fmt::format("\"{}\" is no target: {}", text, fmt::join(tried, "; ")));
  }

  Status prepare(const Target& target) override {
    if (const auto* image = std::get_if<ImageTarget>(&target.form)) {
      if (!images_)
        return fail(Code::usage, target.label + " is an image, and the config names no \"engine\" to run it");
      return images_->prepare(image->reference);
    }
    const auto* place = std::get_if<DirectoryTarget>(&target.form);
    if (place == nullptr) return {};
    if (builds_ && builds_->owns(place->path)) return builds_->prepare(target, place->path);
    std::error_code ignored;
    if (fs::is_directory(place->path, ignored)) return {};
    return fail(Code::measure,
                "the target " + target.label + " is gone: there is no directory " + place->path.string());
  }

 private:
  static bool is_special(std::string_view text) { return text == "merge-base" || text == "last-release"; }

  // Images are asked for all together, since each is a question to the network.
  Status ask_images(const std::vector<Merge>& merges) {
    if (!images_ || !config_.targets.image) return {};
    std::vector<Merge> unknown;
    std::ranges::copy_if(merges, std::back_inserter(unknown),
                         [&](const Merge& m) { return !known_.contains(m.commit); });
    if (unknown.empty()) return {};
    NG_TRY(auto found, images_->find_all(unknown));
    for (std::size_t i = 0; i < unknown.size(); ++i) known_.emplace(unknown[i].commit, std::move(found[i]));
    return {};
  }

  // Without a question to the network.
  Result<Found> find_here(const Merge& merge) {
    if (config_.targets.artifact) return artifact(merge);
    if (builds_) return Found(Untestable{"it has not been built"});
    if (config_.targets.build) return fail(Code::usage, "a build needs the project's \"repository\" in the config");
    return Found(without_broker(merge.commit, label_of(merge)));
  }

  Result<Found> artifact(const Merge& merge) {
    const auto expanded = expand_for(config_.targets.artifact->path, merge, history_);
    if (!expanded && expanded.error().code == Code::not_found) return Found(Untestable{expanded.error().message});
    if (!expanded) return tl::unexpected<Error>(expanded.error());
    const fs::path path = (config_.directory / *expanded).lexically_normal();
    auto digest = digests_.of(path);
    if (!digest && (digest.error().code == Code::not_found || digest.error().code == Code::bad_data)) {
      return Found(Untestable{digest.error().message});
    }
    if (!digest) return tl::unexpected<Error>(digest.error());
    return Found(Target{merge.commit, *digest, label_of(merge), DirectoryTarget{path}});
  }

  // A merge without an image or artifact is built where a build is configured.
  Result<Found> build_instead(const Merge& merge, const Found& found) {
    if (!builds_ || std::holds_alternative<Target>(found)) return found;
    return builds_->find(merge);
  }

  Target without_broker(std::string commit, std::string label) {
    if (programs_.empty()) programs_ = digest_of_programs(config_);
    return {std::move(commit), programs_, std::move(label), NoBroker{}};
  }

  Result<Target> directory(const std::string& text) {
    std::error_code ignored;
    fs::path path = fs::absolute(text);
    if (!fs::is_directory(path, ignored)) path = config_.directory / text;
    path = path.lexically_normal();
    NG_TRY(std::string digest, digests_.of(path));
    return Target{"", std::move(digest), text, DirectoryTarget{path}};
  }

  Result<Target> commit(const std::string& text) {
    std::string sha = text;
    if (text == "merge-base") {
      NG_TRY(sha, history_->merge_base(config_.repository.branch, "HEAD"));
    } else if (text == "last-release") {
      NG_TRY(sha, history_->last_release("HEAD"));
    }
    NG_TRY(const Merge merge, history_->merge(sha));
    NG_TRY(Found found, find(merge));
    if (const auto* why = std::get_if<Untestable>(&found)) {
      return fail(Code::measure, fmt::format("the commit {} has no target: {}", merge.commit.substr(0, 8), why->why));
    }
    Target target = std::get<Target>(std::move(found));
    if (!is_hex(sha)) target.label = fmt::format("{} {}", sha, merge.commit.substr(0, 7));
    return target;
  }

  const config::Config config_;
  History* history_;
  std::unique_ptr<Images> images_;
  std::optional<Builds> builds_;
  ContentDigests digests_;
  std::string programs_;
  std::unordered_map<std::string, Found> known_;
};

}  // namespace

Result<std::unique_ptr<Finder>> make_finder(const config::Config& config, History* history) {
  std::unique_ptr<Images> images;
  if (!config.engine.empty()) {
    NG_TRY(images, make_images(config, history));
  }
  return std::make_unique<ConfiguredFinder>(config, history, std::move(images));
}

}  // namespace nightgate::targets
