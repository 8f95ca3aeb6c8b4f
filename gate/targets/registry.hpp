// Questions to an image registry: the distribution API (github.com/opencontainers/distribution-spec, 1.1) over HTTP.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gate/base/http.hpp"
#include "gate/base/result.hpp"
#include "gate/formats/image_ref.hpp"
#include "gate/targets/engine.hpp"

namespace nightgate::targets {

struct RegistryOptions {
  std::optional<RegistryLogin> login;
  std::string ca_file;       // empty: the system's certificates
  bool plain_http = false;   // loopback registries are asked without TLS anyway, unless ca_file is set
  int attempts = 4;          // of a question that was not answered (429, 5xx, connection lost)
  std::string os = "linux";  // whose image is taken from an index
  std::string architecture;  // "amd64"; empty: this machine's
};

// One object per thread; keeps its connection and its token. Errors: Code::not_found (no such image or repository),
// Code::denied (credentials missing or refused), Code::away (no answer after some attempts), Code::bad_data (content
// that is not what its digest says, is too big, or is no manifest).
class Registry {
 public:
  explicit Registry(RegistryOptions options, std::unique_ptr<HttpClient> http = make_http_client());

  // Digest of what the reference names: of an index where it is one.
  [[nodiscard]] Result<std::string> digest(const formats::ImageRef& image);
  // Labels of the image's configuration, for this machine's platform.
  [[nodiscard]] Result<std::map<std::string, std::string>> labels(const formats::ImageRef& image);
  // All tags of the repository, page by page.
  [[nodiscard]] Result<std::vector<std::string>> tags(const formats::ImageRef& image);

 private:
  struct Manifest {
    std::string body, digest;
  };
  [[nodiscard]] std::string base(const formats::ImageRef& image) const;
  [[nodiscard]] Result<HttpResponse> ask(const formats::ImageRef& image, HttpRequest request);
  [[nodiscard]] Result<HttpResponse> ask_patiently(const HttpRequest& request);
  [[nodiscard]] Status authenticate(const formats::ImageRef& image, const HttpResponse& refused);
  [[nodiscard]] Result<std::string> fetch_token(const std::map<std::string, std::string>& challenge,
                                                const formats::ImageRef& image);
  [[nodiscard]] Result<Manifest> manifest(const formats::ImageRef& image, const std::string& reference);
  [[nodiscard]] Result<std::string> config_digest(const formats::ImageRef& image);

  RegistryOptions options_;
  std::unique_ptr<HttpClient> http_;
  std::map<std::string, std::string> authorization_;  // by registry and repository
};

// Label that says which commit an image was built from.
inline constexpr const char* revision_label = "org.opencontainers.image.revision";

}  // namespace nightgate::targets
