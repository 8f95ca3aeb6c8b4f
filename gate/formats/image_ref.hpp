// Names of container images, by the reference grammar of the distribution project:
//   [domain[:port]/]path[/path...][:tag][@algorithm:hex]
// The part before the first '/' is a domain only when it has a '.' or ':', is "localhost", or has capitals; without one
// the domain is docker.io, and there a single path component means library/NAME. index.docker.io is docker.io.
#pragma once

#include <string>
#include <string_view>

#include "gate/base/result.hpp"

namespace nightgate::formats {

struct ImageRef {
  std::string registry;    // "docker.io", "ghcr.io", "127.0.0.1:5000", "[::1]:5000"
  std::string repository;  // "library/postgres", at most 255 bytes together with the registry
  std::string tag;         // empty: none given
  std::string digest;      // "sha256:..." or empty
  bool operator==(const ImageRef&) const = default;

  // What a registry is asked for: the digest, else the tag, else "latest".
  [[nodiscard]] std::string reference() const;
  // Full form, "docker.io/library/postgres:17@sha256:...".
  [[nodiscard]] std::string text() const;
  // Where the registry's HTTP API is: registry-1.docker.io for docker.io, else the registry itself.
  [[nodiscard]] std::string api_host() const;
  // Registry on this machine (localhost, 127.*, [::1]), where plain HTTP is usual.
  [[nodiscard]] bool is_loopback() const;
};

// Code::usage with what is wrong where. A bare 64-digit hexadecimal name is refused: engines read it as an image id.
[[nodiscard]] Result<ImageRef> parse_image_ref(std::string_view text);

// The parts alone, for names built from a template or read from a registry.
[[nodiscard]] bool is_image_tag(std::string_view text);
[[nodiscard]] bool is_image_digest(
    std::string_view text);  // sha256 and sha512 with their exact lengths; others 32 digits or more

}  // namespace nightgate::formats
