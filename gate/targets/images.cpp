#include "gate/targets/images.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "config/names.hpp"
#include "gate/base/log.hpp"
#include "gate/targets/artifacts.hpp"
#include "gate/targets/engine.hpp"
#include "gate/targets/image_cache.hpp"
#include "gate/targets/registry.hpp"

namespace nightgate::targets {
namespace {

using formats::ImageRef;

constexpr std::size_t most_threads = 8;

bool is_commit(std::string_view text) {
  return text.size() >= 7 && text.size() <= 40 &&
         std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

bool names(std::string_view label, std::string_view commit) { return is_commit(label) && commit.starts_with(label); }

// One image in the registry, as asked.
struct Seen {
  std::string digest;
  std::string revision;  // empty: no label
};

// Calls `work` with 0 .. count-1 from several threads; each thread has its own registry client. Stops early at the
// first error or when `work` says that it is enough.
Status in_parallel(std::size_t count, const RegistryOptions& options,
                   const std::function<Result<bool>(std::size_t, Registry&)>& work) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> stop{false};
  std::mutex mutex;
  Status status;
  const auto loop = [&] {
    Registry registry(options);
    for (std::size_t i = next++; i < count && !stop; i = next++) {
      const auto more = work(i, registry);
      if (more && *more) continue;
      stop = true;
      const std::scoped_lock lock(mutex);
      if (!more && status) status = tl::unexpected<Error>(more.error());
    }
  };
  std::vector<std::jthread> threads;
  for (std::size_t i = 1; i < std::min(count, most_threads); ++i) threads.emplace_back(loop);
  loop();
  threads.clear();  // joins
  return status;
}

Result<Seen> look(Registry& registry, ImageRef image) {
  Seen seen;
  NG_TRY(seen.digest, registry.digest(image));
  image.digest = seen.digest;
  NG_TRY(const auto labels, registry.labels(image));
  if (const auto found = labels.find(revision_label); found != labels.end()) seen.revision = found->second;
  return seen;
}

std::string by_digest(const ImageRef& image, const std::string& digest) {
  return image.registry + "/" + image.repository + "@" + digest;
}

class RegistryImages final : public Images {
 public:
  RegistryImages(const config::Config& config, History* history, std::unique_ptr<Engine> engine,
                 RegistryOptions options)
      : source_(config.targets.image),
        history_(history),
        engine_(std::move(engine)),
        options_(std::move(options)),
        // A block of a bisect, and what is pulled ahead of the next one, are on the machine together.
        cache_(config.state / "images.json", source_ ? source_->disk_limit_gb : 20,
               static_cast<std::size_t>(std::max(3, config.bisect.interior)) + 5, *engine_),
        registry_(host_of(source_)) {}

  Result<std::vector<Found>> find_all(const std::vector<Merge>& merges) override {
    return source_->by_label ? find_by_label(merges) : find_by_template(merges);
  }

  Result<Target> parse(std::string_view reference) override {
    NG_TRY(ImageRef image, formats::parse_image_ref(reference));
    Registry registry(options_for(image));
    const auto seen = look(registry, image);
    if (seen) {
      const std::string commit = seen->revision.size() == 40 && is_commit(seen->revision) ? seen->revision : "";
      return Target{commit, seen->digest, std::string(reference), ImageTarget{pinned(image, seen->digest)}};
    }
    // Not in a registry that answers: an image made on this machine will do.
    const auto local = engine_->image(reference);
    if (!local) return tl::unexpected<Error>(seen.error());
    const auto revision = local->labels.find(revision_label);
    const bool known = revision != local->labels.end() && revision->second.size() == 40 && is_commit(revision->second);
    return Target{known ? revision->second : "", local->digest, std::string(reference), ImageTarget{local->id}};
  }

  Status prepare(const std::string& reference) override {
    auto info = engine_->image(reference);
    if (!info && info.error().code != Code::not_found) return tl::unexpected<Error>(info.error());
    const bool pulled = !info;
    if (pulled) {
      NG_TRY(const ImageRef image, formats::parse_image_ref(reference));
      tell_moved_tag(image);
      log::info("pulling " + reference);
      NG_CHECK(engine_->pull(reference, options_for(image).login));
      info = engine_->image(reference);
      if (!info) return tl::unexpected<Error>(info.error());
    }
    return cache_.used(reference, *info, pulled);
  }

 private:
  // Tags move. What was looked up is measured, by its digest; when its tag names something else by now, that is said.
  void tell_moved_tag(const ImageRef& image) {
    const auto tagged = tags_of_.find(image.digest);
    if (tagged == tags_of_.end()) return;
    const auto now = Registry(options_for(image)).digest(tagged->second);
    if (!now || *now == image.digest) return;
    log::notice(fmt::format("{} was moved since it was looked up: it is {} by now, and {} is measured",
                            tagged->second.text(), *now, image.digest));
  }

  // By digest, and its tag remembered.
  std::string pinned(const ImageRef& image, const std::string& digest) {
    if (image.digest.empty()) tags_of_.insert_or_assign(digest, image);
    return by_digest(image, digest);
  }

  static std::string host_of(const std::optional<config::ImageSource>& source) {
    if (!source) return {};
    const auto filled =
        config::expand_names(source->reference, [](std::string_view) { return std::optional<std::string>("1"); });
    const auto image = filled ? formats::parse_image_ref(*filled) : Result<ImageRef>(ImageRef{});
    return image ? image->registry : std::string();
  }

  // Login, certificates and plain HTTP are those of the configured registry and go to no other.
  RegistryOptions options_for(const ImageRef& image) const {
    if (source_ && image.registry == registry_) return options_;
    return {};
  }

  // The image of a merge by the template; Untestable when the template cannot be filled or gives no reference.
  Result<std::variant<ImageRef, Untestable>> reference_of(const Merge& merge) {
    const auto text = expand_for(source_->reference, merge, history_);
    if (!text && text.error().code == Code::not_found) return Untestable{text.error().message};
    if (!text) return tl::unexpected<Error>(text.error());
    NG_TRY(ImageRef image, formats::parse_image_ref(*text));
    return image;
  }

  Result<std::vector<Found>> find_by_template(const std::vector<Merge>& merges) {
    std::vector<Found> found(merges.size(), Untestable{});
    std::vector<std::pair<std::size_t, ImageRef>> asked;  // before the threads: History is for one thread
    for (std::size_t i = 0; i < merges.size(); ++i) {
      NG_TRY(auto reference, reference_of(merges[i]));
      if (const auto* image = std::get_if<ImageRef>(&reference)) asked.emplace_back(i, *image);
      if (const auto* why = std::get_if<Untestable>(&reference)) found[i] = *why;
    }
    std::vector<std::optional<Seen>> seen(asked.size());
    std::vector<std::string> missing(asked.size());
    NG_CHECK(in_parallel(asked.size(), options_, [&](std::size_t k, Registry& registry) -> Result<bool> {
      auto one = look(registry, asked[k].second);
      if (one) {
        seen[k] = std::move(*one);
      } else if (one.error().code == Code::not_found || one.error().code == Code::bad_data) {
        missing[k] = one.error().text();
      } else {
        return tl::unexpected<Error>(one.error());
      }
      return true;
    }));
    for (std::size_t k = 0; k < asked.size(); ++k) {
      const auto& [i, image] = asked[k];
      if (!seen[k]) {
        found[i] = Untestable{missing[k]};
        continue;
      }
      NG_TRY(found[i], judged(merges[i], image, *seen[k]));
    }
    return found;
  }

  Result<Found> judged(const Merge& merge, const ImageRef& image, const Seen& seen) {
    Target target{merge.commit, seen.digest, label_of(merge), ImageTarget{pinned(image, seen.digest)}};
    if (seen.revision.empty() || names(seen.revision, merge.commit)) return Found(std::move(target));
    NG_TRY(const auto other, owner_of(seen.revision, seen.digest));
    if (other.empty()) {
      return Found(Untestable{fmt::format("the image {} says by its label {} that it was built from {}, not from {}",
                                          image.text(), revision_label, seen.revision.substr(0, 40), merge.commit)});
    }
    target.commit = other;  // that is the commit which its broker reports
    return Found(std::move(target));
  }

  // A merge that changed nothing in the image may be published as the image of an earlier merge once more: then the
  // label names that merge, and that merge's own reference has the same digest. Its full sha, empty when not so.
  Result<std::string> owner_of(const std::string& revision, const std::string& digest) {
    if (history_ == nullptr || !is_commit(revision)) return std::string();
    const auto merge = history_->merge(revision);
    if (!merge) return std::string();
    NG_TRY(const auto reference, reference_of(*merge));
    const auto* image = std::get_if<ImageRef>(&reference);
    if (image == nullptr) return std::string();
    Registry registry(options_);
    const auto found = registry.digest(*image);
    if (!found && found.error().code != Code::not_found) return tl::unexpected<Error>(found.error());
    return found && *found == digest ? merge->commit : std::string();
  }

  // Looks at every tag's label, the last tags first, until all wanted commits are found.
  Result<std::vector<Found>> find_by_label(const std::vector<Merge>& merges) {
    NG_TRY(const ImageRef repository, formats::parse_image_ref(source_->reference));
    if (tags_.empty()) {
      Registry registry(options_);
      NG_TRY(tags_, registry.tags(repository));
      std::ranges::reverse(tags_);
      looked_.assign(tags_.size(), false);
    }
    const auto complete = [&] {
      return std::ranges::all_of(merges, [&](const Merge& merge) { return digests_.contains(merge.commit); });
    };
    std::mutex mutex;
    bool enough = complete();
    NG_CHECK(in_parallel(enough ? 0 : tags_.size(), options_, [&](std::size_t k, Registry& registry) -> Result<bool> {
      if (looked_[k]) return true;
      ImageRef image = repository;
      image.tag = tags_[k];
      const auto one = look(registry, image);
      if (!one && one.error().code != Code::not_found && one.error().code != Code::bad_data)
        return tl::unexpected<Error>(one.error());
      const std::scoped_lock lock(mutex);
      looked_[k] = true;
      if (one && !one->revision.empty()) digests_.emplace(one->revision, one->digest);
      return !complete();
    }));
    std::vector<Found> found;
    for (const Merge& merge : merges) {
      const auto known = digests_.find(merge.commit);
      if (known == digests_.end()) {
        found.emplace_back(Untestable{fmt::format("none of the {} tags of {} has the label {}={}", tags_.size(),
                                                  source_->reference, revision_label, merge.commit)});
      } else {
        found.emplace_back(
            Target{merge.commit, known->second, label_of(merge), ImageTarget{by_digest(repository, known->second)}});
      }
    }
    return found;
  }

  std::optional<config::ImageSource> source_;
  History* history_;
  std::unique_ptr<Engine> engine_;
  RegistryOptions options_;
  ImageCache cache_;
  std::string registry_;                     // host of the configured one
  std::map<std::string, ImageRef> tags_of_;  // by digest: the name with a tag that was looked up
  std::vector<std::string> tags_;
  std::vector<char> looked_;
  std::unordered_map<std::string, std::string> digests_;  // by the commit that a label names
};

}  // namespace

Result<std::unique_ptr<Images>> make_images(const config::Config& config, History* history) {
  NG_TRY(auto engine, make_engine(config.engine));
  RegistryOptions options;
  if (config.targets.image) {
    const auto& source = *config.targets.image;
    options.ca_file = source.ca_file;
    options.plain_http = source.plain_http;
    if (source.username) {
      NG_TRY(std::string password, config::secret_from_environment(source.password_env));
      options.login = RegistryLogin{*source.username, std::move(password)};
    }
  }
  return std::make_unique<RegistryImages>(config, history, std::move(engine), std::move(options));
}

}  // namespace nightgate::targets
