// Hashes and random names.
#include <fmt/format.h>
#include <openssl/evp.h>
#include <sys/random.h>

#include <array>
#include <cerrno>
#include <cstdlib>

#include "gate/base/files.hpp"

namespace nightgate {
namespace {

std::string hex(const unsigned char* bytes, std::size_t count) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  out.reserve(count * 2);
  for (std::size_t i = 0; i < count; ++i) {
    out += digits[bytes[i] >> 4U];
    out += digits[bytes[i] & 15U];
  }
  return out;
}

}  // namespace

std::string sha256_hex(std::string_view data) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  // Fails only without memory or with a library that lacks SHA-256: nothing sensible can go on from there.
  if (EVP_Digest(data.data(), data.size(), digest.data(), &length, EVP_sha256(), nullptr) != 1) std::abort();
  return hex(digest.data(), length);
}

std::string make_uuid() {
  std::array<unsigned char, 16> bytes{};
  while (true) {
    const auto n = ::getrandom(bytes.data(), bytes.size(), 0);
    if (n == static_cast<ssize_t>(bytes.size())) break;
    if (n < 0 && errno != EINTR) std::abort();  // every Linux we run on has it
  }
  bytes[6] = static_cast<unsigned char>((bytes[6] & 0x0FU) | 0x40U);  // version 4, RFC 9562
  bytes[8] = static_cast<unsigned char>((bytes[8] & 0x3FU) | 0x80U);
  const auto all = hex(bytes.data(), bytes.size());
  return fmt::format("{}-{}-{}-{}-{}", all.substr(0, 8), all.substr(8, 4), all.substr(12, 4), all.substr(16, 4),
                     all.substr(20));
}

}  // namespace nightgate
