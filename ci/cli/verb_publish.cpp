// publish RESULT.json: what a workflow step says about a result, and with which exit code the job ends. The verdict
// decides the job; a report that can't be delivered neither changes nor hides it.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ci/cli/cli.hpp"
#include "ci/cli/output.hpp"
#include "ci/github/workflow.hpp"
#include "ci/report/result.hpp"
#include "ci/report/text.hpp"
#include "gate/base/log.hpp"

namespace nightgate::cli {
namespace {

using github::Annotation;
using github::Level;
using report::JobResult;
using report::Overall;

constexpr std::size_t full_report_bytes = 16U << 20U;

// The job's exit code: could not measure, wrong usage and bugs always fail it.
int job_code(int code, const std::string& fail_on) {
  if (code == 1) return fail_on == "never" ? 0 : 1;
  if (code == 4) return fail_on == "no-verdict" ? 4 : 0;
  return code;
}

// The document, or what the command's exit code alone says. Only a document from outside is an error here: a job of our
// own must end with a code and a word about it whatever the file holds.
Result<JobResult> result_of(const Options& o) {
  auto text = read_file(o.positional.at(0), report::result_bytes);
  auto result = text ? report::read_result(*text) : Result<JobResult>(tl::unexpected<Error>(text.error()));
  if (result) {
    if (o.exit_of >= 0) report::take_exit_code(*result, o.exit_of);
    return result;
  }
  if (o.from_artifact || o.exit_of < 0) return with_context(std::move(result).error(), "reading " + o.positional.at(0));
  // A verdict comes with its document: without one, 0, 1 and 4 are not to be believed.
  const bool verdict = o.exit_of == 0 || o.exit_of == 1 || o.exit_of == 4;
  auto out = report::result_of_exit(verdict ? 5 : o.exit_of);
  out.remarks.push_back("There is no result to show: " + result.error().text());
  return out;
}

std::vector<Annotation> annotations_of(const JobResult& result, int job) {
  const auto level = job != 0 ? Level::error : Level::warning;
  std::vector<Annotation> out;
  if (result.overall == Overall::no_verdict) {
    out.push_back(
        {level, job != 0 ? "No verdict" : "No verdict (the job is not failed for it: fail-on)", result.sentence});
    return out;
  }
  if (result.overall == Overall::error) {
    const auto why = result.remarks.empty() ? "" : ". " + result.remarks.front();
    out.push_back(
        {level, result.exit_code == 2 ? "Wrong usage or configuration" : "Could not measure", result.sentence + why});
    return out;
  }
  for (const auto& section : result.sections) {
    for (const auto& row : section.rows) {
      if (!row.red) continue;
      const auto where =
          section.title.empty() || result.kind != report::ResultKind::compare ? "" : section.title + ": ";
      out.push_back({level, "Regression: " + row.metric,
                     fmt::format("{}{} {}. {}", where, row.metric, report::percent(row.change), row.reason)});
    }
  }
  if (out.empty() && result.overall == Overall::regression) out.push_back({level, "Regression", result.sentence});
  return out;
}

std::string footer(const github::Runner& runner, const github::Event& event, bool from_artifact) {
  const bool hex = !event.head_sha.empty() && event.head_sha.find_first_not_of("0123456789abcdef") == std::string::npos;
  auto out = hex ? "for " + event.head_sha.substr(0, 10) : std::string();
  const auto run = from_artifact && event.run > 0 ? std::to_string(event.run) : runner.run_id;
  const bool linked = runner.server.starts_with("https://") && !runner.repository.empty() && !run.empty() &&
                      run.find_first_not_of("0123456789") == std::string::npos;
  if (linked)
    out += fmt::format("{}[run]({}/{}/actions/runs/{})", out.empty() ? "" : " \u00b7 ", runner.server,
                       runner.repository, run);
  return out.empty() ? out : "<sub>" + out + "</sub>";
}

// ---- the pull request's comment ----
struct Told {
  std::string what = "none";  // none, created, changed, same
  std::int64_t id = 0;
};

Result<Told> comment(const Options& o, const github::Runner& runner, const github::Event& event,
                     const JobResult& result) {
  if (o.comment_when == "never") return Told{};
  if (event.pull_request == 0 && !o.from_artifact) return Told{};
  if (runner.token.empty()) return fail(Code::denied, "there is no token (input `token`)");
  NG_CHECK(github::check_api(runner.api));
  const auto http = make_http_client();
  github::Account account;
  account.api = runner.api;
  account.repository = runner.repository;
  account.token = runner.token;
  github::Api api(*http, system_clock(), account);
  auto number = event.pull_request;
  if (o.from_artifact) {
    const auto sha = o.head_sha.empty() ? event.head_sha : o.head_sha;
    if (sha.empty()) return fail(Code::usage, "--from-artifact needs --head-sha, or the payload of a workflow_run");
    NG_TRY(number, github::pull_request_of(api, sha, event.head));
    if (number == 0) {
      log::warning("no open pull request has the head " + sha.substr(0, 40) + ": there is nowhere to comment");
      return Told{};
    }
  }
  if (o.comment_when == "on-change" && result.overall == Overall::pass) {
    NG_TRY(const bool there, github::has_comment(api, number, o.comment_key));
    if (!there) return Told{};
  }
  const auto text =
      report::result_markdown(result, github::comment_bytes - 200, footer(runner, event, o.from_artifact));
  NG_TRY(const auto made, github::upsert_comment(api, number, o.comment_key, text));
  constexpr const char* names[] = {"created", "changed", "same"};
  return Told{names[static_cast<std::size_t>(made.written)], made.id};
}

// ---- files ----
struct Files {
  fs::path report, summary;
};

Result<Files> write_files(const Options& o, const github::Runner& runner, const JobResult& result,
                          std::string_view end) {
  const fs::path json = o.positional.at(0);
  const fs::path directory = !o.output.empty() ? fs::path(o.output) : fs::absolute(json).parent_path();
  NG_CHECK(make_directories(directory));
  const Files files{directory / "report.md", directory / "summary.md"};
  NG_CHECK(write_file(files.report, report::result_markdown(result, full_report_bytes, end)));
  const auto room = runner.summary.empty() ? github::summary_bytes : github::summary_room(runner.summary);
  const auto summary = report::result_markdown(result, room, end);
  NG_CHECK(write_file(files.summary, summary));
  if (!runner.summary.empty()) NG_CHECK(github::append_to(runner.summary, summary));
  return files;
}

Status write_outputs(const Options& o, const github::Runner& runner, const JobResult& result, const Files& files) {
  if (runner.output.empty()) return {};
  const auto path = [](const fs::path& p) { return p.empty() ? std::string() : fs::absolute(p).string(); };
  return github::write_outputs(runner.output,
                               {{"verdict", std::string(report::name(result.overall))},
                                {"regressions", std::to_string(result.regressions)},
                                {"culprit", result.culprits.empty() ? "" : result.culprits.front().commit},
                                {"report", path(files.report)},
                                {"summary", path(files.summary)},
                                {"json", fs::exists(o.positional.at(0)) ? path(o.positional.at(0)) : ""}});
}

// Everything that may fail without the verdict changing: one warning each.
void warn(const github::Runner& runner, bool json, const std::string& title, const std::string& message) {
  if (!runner.actions) return log::warning(title + ": " + message);
  const auto line = github::workflow_command({Level::warning, title, log::redact(message)});
  if (json) {
    std::fputs(line.c_str(), stderr);
  } else {
    print(line);
  }
}

std::string job_sentence(int code, int job) {
  if (job != 0) return fmt::format("the job fails with exit code {}", job);
  return code == 0 ? "the job passes" : fmt::format("exit code {} does not fail the job (--fail-on)", code);
}

void say(const Options& o, const github::Runner& runner, const JobResult& result, int job, const Told& told) {
  const auto marks = runner.actions && !o.from_artifact ? github::annotations_text(annotations_of(result, job)) : "";
  if (o.json) {
    std::fputs(marks.c_str(), stderr);
    print_json(o, {{"verdict", report::name(result.overall)},
                   {"sentence", result.sentence},
                   {"exit_code", result.exit_code},
                   {"job_exit_code", job},
                   {"regressions", result.regressions},
                   {"comment", told.what},
                   {"comment_id", told.id}});
    return;
  }
  print(marks);
  print(fmt::format("{}: {}; {}\n", report::name(result.overall), clean(result.sentence),
                    o.from_artifact ? "comment: " + told.what : job_sentence(result.exit_code, job)));
}

}  // namespace

Result<int> verb_publish(const Options& o) {
  const auto runner = github::runner_from_environment();
  NG_TRY(const auto result, result_of(o));
  const int job = o.from_artifact ? 0 : job_code(result.exit_code, o.fail_on);
  github::Event event;
  if (auto read = github::read_event(runner)) {
    event = std::move(*read);
  } else {
    warn(runner, o.json, "nightgate: the event could not be read", read.error().text());
  }
  Files files;
  if (auto written = write_files(o, runner, result, footer(runner, event, o.from_artifact))) {
    files = std::move(*written);
  } else {
    warn(runner, o.json, "nightgate: no summary", written.error().text());
  }
  if (auto written = write_outputs(o, runner, result, files); !written) {
    warn(runner, o.json, "nightgate: no outputs", written.error().text());
  }
  Told told;
  if (auto done = comment(o, runner, event, result)) {
    told = std::move(*done);
  } else if (o.from_artifact) {
    return tl::unexpected<Error>(std::move(done).error());  // posting is all that this call is for
  } else {
    warn(runner, o.json, "nightgate: no comment", done.error().text() + ". The verdict is in the step's summary.");
  }
  say(o, runner, result, job, told);
  return job;
}

}  // namespace nightgate::cli
