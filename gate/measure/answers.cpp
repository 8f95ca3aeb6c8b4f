#include "gate/measure/answers.hpp"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "gate/base/json.hpp"
#include "gate/measure/calls.hpp"

namespace nightgate::measure {
namespace {

using nlohmann::json;

std::vector<std::string> segments_of(std::string_view pointer) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < pointer.size() && pointer[at] == '/';) {
    const auto end = std::min(pointer.find('/', at + 1), pointer.size());
    std::string segment;
    for (std::size_t i = at + 1; i < end; ++i) {  // RFC 6901: ~1 is '/', ~0 is '~'
      const bool escaped = pointer[i] == '~' && i + 1 < end;
      if (escaped) ++i;
      segment += escaped ? (pointer[i] == '1' ? '/' : '~') : pointer[i];
    }
    out.push_back(std::move(segment));
    at = end;
  }
  return out;
}

void remove_at(json& value, const std::vector<std::string>& path, std::size_t depth);

void remove_from_array(json& value, const std::vector<std::string>& path, std::size_t depth) {
  const auto& name = path[depth];
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  const bool all = name == "*";
  if (!all && (error != std::errc() || end != name.data() + name.size())) return;
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (!all && i != index) continue;
    if (depth + 1 == path.size()) {
      value[i] = nullptr;  // the other elements keep their places
    } else {
      remove_at(value[i], path, depth + 1);
    }
  }
}

void remove_at(json& value, const std::vector<std::string>& path, std::size_t depth) {
  if (value.is_array()) {
    remove_from_array(value, path, depth);
    return;
  }
  if (!value.is_object()) return;
  const auto& name = path[depth];
  if (depth + 1 == path.size()) {
    if (name == "*") {
      value.clear();
    } else {
      value.erase(name);
    }
    return;
  }
  for (auto& [key, member] : value.items()) {
    if (name == "*" || name == key) remove_at(member, path, depth + 1);
  }
}

void remove_ignored(json& value, const std::vector<std::string>& ignore) {
  for (const auto& pointer : ignore) {
    if (const auto path = segments_of(pointer); !path.empty()) remove_at(value, path, 0);
  }
}

}  // namespace

std::string answer_hash(int status, std::string_view body, const std::vector<std::string>& ignore) {
  std::string text(body);
  if (auto parsed = parse_json(body)) {
    remove_ignored(*parsed, ignore);
    text = dump_json(*parsed);
  }
  return sha256_hex(fmt::format("{}\n{}", status, text)).substr(0, 16);
}

bool says_nothing(std::string_view body, const std::vector<std::string>& ignore) {
  auto parsed = parse_json(body);
  if (!parsed) return body.find_first_not_of(" \t\r\n") == std::string_view::npos;
  remove_ignored(*parsed, ignore);
  return parsed->is_null() || (parsed->is_structured() && parsed->empty()) ||
         (parsed->is_string() && parsed->get_ref<const std::string&>().empty());
}

Result<std::vector<Measurer::Answer>> ask_all(RunningDeployment& deployment,
                                              const std::vector<config::Equivalence>& requests) {
  std::vector<Measurer::Answer> out;
  for (const auto& request : requests) {
    const auto name = fmt::format("{} {}", request.get.method, request.get.url);
    auto response = send_call(deployment.http(), request.get, deployment.names(), deployment.call_options());
    if (!response) {
      if (auto alive = deployment.alive(); !alive) return tl::unexpected<Error>(std::move(alive).error());
      auto error = std::move(response).error();
      error.code = error.code == Code::away ? Code::measure : error.code;
      return with_context(std::move(error), "asking " + name);
    }
    Measurer::Answer answer;
    answer.request = name;
    answer.status = static_cast<int>(response->status);
    answer.hash = answer_hash(answer.status, response->body, request.ignore);
    answer.empty = says_nothing(response->body, request.ignore);
    answer.body = std::move(response->body);
    out.push_back(std::move(answer));
  }
  return out;
}

}  // namespace nightgate::measure
