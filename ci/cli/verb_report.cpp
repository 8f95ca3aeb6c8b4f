#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "ci/cli/context.hpp"
#include "ci/cli/pages.hpp"
#include "ci/cli/release_view.hpp"
#include "ci/report/compare.hpp"
#include "ci/report/result.hpp"
#include "ci/report/site.hpp"
#include "gate/base/json.hpp"

namespace nightgate::cli {
namespace {

constexpr std::size_t markdown_bytes = 900U << 10U;

Result<std::int64_t> id_of(const Options& options) {
  const auto& text = options.positional.empty() ? std::string() : options.positional[0];
  std::int64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  // Nights imported before the first one have numbers below 0.
  const bool could_be = id > 0 || (id < 0 && options.action == "night");
  if (error == std::errc{} && end == text.data() + text.size() && could_be) return id;
  return fail(
      Code::usage,
      fmt::format("report {} takes a number, as `nightgate status` and `nightgate history` show them; found '{}'",
                  options.action, text));
}

// stdout, or the file named by --output.
Status deliver(const Options& options, const std::string& text) {
  if (options.output.empty() || options.output == "-") {
    print(text);
    return {};
  }
  NG_CHECK(write_file(options.output, text));
  print("wrote " + options.output + "\n");
  return {};
}

template <class Model>
Status render(const Options& options, const Model& model, std::string (*page)(const Model&, const report::SiteLinks*),
              std::string (*markdown)(const Model&, std::size_t), nlohmann::json (*json)(const Model&)) {
  if (options.json || options.format == "json") {
    return deliver(options, json(model).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  }
  if (options.format == "markdown" || options.format == "md") return deliver(options, markdown(model, markdown_bytes));
  return deliver(options, page(model, nullptr));
}

// Needs no config and no store: everything is in the document.
Result<int> report_compare(const Options& options) {
  NG_TRY(const auto text, read_file(options.positional[0], std::size_t{16} << 20U));
  if (options.json || options.format == "json") {
    NG_TRY(const auto document, parse_json(text));
    NG_TRY(const auto checked, report::read_compare(text));
    NG_CHECK(deliver(options, dump_json(document, 2) + "\n"));
  } else if (options.format == "markdown" || options.format == "md") {
    NG_TRY(const auto result, report::read_result(text));
    NG_CHECK(deliver(options, report::result_markdown(result, markdown_bytes)));
  } else {
    NG_TRY(const auto model, report::read_compare(text));
    NG_CHECK(deliver(options, report::compare_page(model)));
  }
  return 0;
}

bool is_perf_report(const std::string& text) {
  const auto document = parse_json(text);
  return document && document->is_object() && document->contains("schema") &&
         (*document)["schema"] == "yuneta-perf-report/1";
}

struct ReleaseSource {
  report::ReleaseModel model;
  std::string document;  // as JSON
};
// A file of `release --json` or of yuneta-perf-report/1.
Result<ReleaseSource> release_of_file(const std::string& file) {
  NG_TRY(auto text, read_file(file, std::size_t{16} << 20U));
  if (is_perf_report(text)) {
    NG_TRY(const auto perf, formats::parse_perf_report(text));
    return ReleaseSource{from_perf_report(perf), std::move(text)};
  }
  NG_TRY(auto model, report::read_release(text));
  return ReleaseSource{std::move(model), std::move(text)};
}

// A release that was measured, by what was typed then; without a name the newest.
Result<ReleaseSource> release_of_store(const Options& options) {
  NG_TRY(const auto config, load_config(options));
  NG_TRY(const auto store, open_store(config));
  NG_TRY(const auto releases, report::load_releases(*store, config.project));
  const auto wanted = options.positional.empty() ? std::string() : options.positional[0];
  for (auto at = releases.rbegin(); at != releases.rend(); ++at) {
    if (!wanted.empty() && at->model.to != wanted && at->model.commit.rfind(wanted, 0) != 0) continue;
    return ReleaseSource{at->model, at->document};
  }
  return fail(Code::usage,
              wanted.empty() ? std::string("no release was measured yet; `nightgate release FROM TO` does")
                             : fmt::format("no release '{}' was measured, and there is no file of that name", wanted));
}

Result<int> report_release(const Options& options) {
  std::error_code ignored;
  const bool file = !options.positional.empty() && fs::is_regular_file(options.positional[0], ignored);
  NG_TRY(const auto source, file ? release_of_file(options.positional[0]) : release_of_store(options));
  if (options.format == "yuneta") {
    NG_CHECK(deliver(options, formats::print_perf_report(to_perf_report(source.model))));
  } else if (options.json || options.format == "json") {
    NG_CHECK(deliver(options, source.document + "\n"));
  } else if (options.format == "markdown" || options.format == "md") {
    NG_CHECK(deliver(options, report::release_markdown(source.model, markdown_bytes)));
  } else {
    NG_CHECK(deliver(options, report::release_page(source.model)));
  }
  return 0;
}

Result<int> report_site(const Options& options, const config::Config& config, store::Store& store) {
  const auto directory = options.positional.empty() ? config.report.site : fs::path(options.positional[0]);
  if (directory.empty())
    return fail(Code::usage, "report site needs a directory, here or as \"site\" under \"report\" in the config");
  NG_TRY(const auto written, write_site(store, config, directory, options.all));
  if (options.json) {
    print_json(options,
               {{"directory", directory.string()}, {"written", written.pages}, {"unchanged", written.unchanged}});
  } else {
    print(fmt::format("{}/index.html: {} pages written\n", directory.string(), written.pages));
  }
  return 0;
}

}  // namespace

Result<int> verb_report(const Options& options) {
  if (options.action == "release") return report_release(options);
  if (options.positional.empty() && options.action != "site")
    return fail(Code::usage,
                fmt::format("report {} needs to know which; see `nightgate report --help`", options.action));
  if (options.format == "yuneta") return fail(Code::usage, "--format yuneta is for releases");
  if (options.action == "compare") return report_compare(options);
  NG_TRY(const auto config, load_config(options));
  NG_TRY(const auto store, open_store(config));
  NG_CHECK(known_machine(options, *store, config));
  if (options.action == "site") return report_site(options, config, *store);
  const auto source = report_source(*store, config, machine_name(options, config));
  NG_TRY(const auto id, id_of(options));
  if (options.action == "night") {
    NG_TRY(const auto model, report::load_night(source, id));
    NG_CHECK(render(options, model, report::night_page, report::night_markdown, report::night_json));
  } else {
    const bool by_bisect = options.action == "bisect";
    NG_TRY(auto model, by_bisect ? report::load_bisect(source, id) : report::load_trip(source, id));
    model.remarks = page_remarks(config);
    NG_CHECK(render(options, model, report::trip_page, report::trip_markdown, report::trip_json));
  }
  return 0;
}

}  // namespace nightgate::cli
