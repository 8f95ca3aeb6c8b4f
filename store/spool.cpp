#include "store/spool.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "gate/base/log.hpp"
#include "store/spool_lines.hpp"

namespace nightgate::store {
namespace {

constexpr std::size_t checksum_length = 16;
constexpr std::size_t largest_file = std::size_t{1} << 30U;
constexpr std::string_view ending = ".jsonl";

std::string with_checksum(const std::string& json) {
  return sha256_hex(json).substr(0, checksum_length) + " " + json + "\n";
}

// The JSON of a line, empty when it is damaged.
std::string_view checked(std::string_view line) {
  if (line.size() < checksum_length + 2 || line[checksum_length] != ' ') return {};
  const std::string_view json = line.substr(checksum_length + 1);
  return sha256_hex(json).compare(0, checksum_length, line.substr(0, checksum_length)) == 0 ? json : std::string_view();
}

std::vector<fs::path> spool_files(const fs::path& state) {
  std::vector<fs::path> out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(state / "spool", error)) {
    if (entry.path().extension() == ending) out.push_back(entry.path());
  }
  std::sort(out.begin(), out.end());  // their names begin with a number that counts up
  return out;
}

Status sync_directory(const fs::path& directory) {
  const Fd fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) {
    return fail(Code::io, fmt::format("{} can't be synced: {}", directory.string(), errno_text(errno)));
  }
  return {};
}

Status write_all(int fd, std::string_view text, const fs::path& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      return fail(Code::io, fmt::format("the spool {} can't be written: {}; free some space on that disk",
                                        path.string(), errno_text(errno)));
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

// The good lines of a file. `damage` says what is wrong with a line that isn't the last one.
struct Content {
  std::string text;
  std::vector<std::string_view> lines;
  std::string damage;
};

Result<Content> read_spool(const fs::path& path) {
  Content out;
  NG_TRY(out.text, read_file(path, largest_file));
  std::string_view rest = out.text;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const auto end = rest.find('\n');
    const bool last = end == std::string_view::npos || end + 1 == rest.size();
    const std::string_view json = end == std::string_view::npos ? std::string_view() : checked(rest.substr(0, end));
    if (!json.empty()) {
      out.lines.push_back(json);
    } else if (!last) {
      out.damage = fmt::format("line {} does not match its checksum", number);
      return out;
    }
    rest = last ? std::string_view() : rest.substr(end + 1);
  }
  return out;
}

void set_aside(const fs::path& path, const std::string& why, Delivered& delivered) {
  std::error_code error;
  fs::rename(path, path.string() + ".damaged", error);
  delivered.damaged.push_back(fmt::format("{}.damaged: {}", path.string(), why));
  log::error(fmt::format("the spool file {} is damaged ({}); it is kept as {}.damaged and not delivered", path.string(),
                         why, path.filename().string()));
}

Status deliver_lines(const fs::path& path, const Content& content, Recorder& store, Delivered& delivered) {
  for (const std::string_view line : content.lines) {
    const Status done = spool_lines::apply(line, store);
    if (done) {
      ++delivered.writes;
      continue;
    }
    // The database can't take this line, today or ever: the file must not block the nights behind it.
    if (done.error().code == Code::bad_data || done.error().code == Code::not_found) {
      set_aside(path, done.error().message, delivered);
      return {};
    }
    return with_context(done.error(), "delivering " + path.string());
  }
  std::error_code error;
  if (!fs::remove(path, error)) {
    return fail(Code::io, fmt::format("{} was delivered but can't be removed: {}", path.string(), error.message()));
  }
  ++delivered.files;
  return {};
}

Status deliver_file(const fs::path& path, Recorder& store, Delivered& delivered) {
  const Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (!fd) return {};                                        // delivered by somebody else in the meantime
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) return {};  // still being written, or delivered right now
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  NG_TRY(const Content content, read_spool(path));
  if (!content.damage.empty()) {
    set_aside(path, content.damage, delivered);
    return {};
  }
  return deliver_lines(path, content, store, delivered);
}

bool away(const Error& error) { return error.code == Code::away || error.code == Code::denied; }

}  // namespace

Result<Delivered> deliver_spool(const fs::path& state, Recorder& store) {
  Delivered out;
  for (const fs::path& path : spool_files(state)) NG_CHECK(deliver_file(path, store, out));
  return out;
}

bool spool_pending(const fs::path& state) { return !spool_files(state).empty(); }

// One file being written; locked while it is, so that nobody delivers half of it.
class SpoolingRecorder::File {
 public:
  static Result<std::unique_ptr<File>> make(const fs::path& state) {
    const fs::path directory = state / "spool";
    NG_CHECK(make_directories(directory, /*is_private=*/true));
    unsigned long number = 1;
    if (const auto there = spool_files(state); !there.empty()) {
      number = std::strtoul(there.back().filename().c_str(), nullptr, 10) + 1;
    }
    const fs::path path = directory / fmt::format("{:08}-{}{}", number, make_uuid(), ending);
    Fd fd(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!fd || ::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
      return fail(Code::io, fmt::format("the spool {} can't be made: {}", path.string(), errno_text(errno)));
    }
    NG_CHECK(sync_directory(directory));
    return std::unique_ptr<File>(new File(std::move(fd), path));
  }

  Status append(const std::string& json) {
    const off_t before = ::lseek(fd_.get(), 0, SEEK_END);
    Status written = write_all(fd_.get(), with_checksum(json), path_);
    if (written && ::fdatasync(fd_.get()) != 0) {
      written = fail(Code::io, fmt::format("the spool {} can't be synced: {}", path_.string(), errno_text(errno)));
    }
    // Half a line would damage the next one (and wasn't acknowledged).
    if (!written && before >= 0) static_cast<void>(::ftruncate(fd_.get(), before) == 0);
    return written;
  }

 private:
  File(Fd fd, fs::path path) : fd_(std::move(fd)), path_(std::move(path)) {}
  Fd fd_;
  fs::path path_;
};

SpoolingRecorder::SpoolingRecorder(Store* store, fs::path state) : store_(store), state_(std::move(state)) {}
SpoolingRecorder::~SpoolingRecorder() = default;

Status SpoolingRecorder::spool(const std::string& line) {
  if (!file_) {
    NG_TRY(file_, File::make(state_));
  }
  return file_->append(line);
}

void SpoolingRecorder::try_to_deliver(bool at_once) {
  const auto now = std::chrono::steady_clock::now();
  if (!behind_ || store_ == nullptr || (!at_once && now - last_try_ < std::chrono::seconds(30))) return;
  last_try_ = now;
  file_.reset();  // gives the lock back; when delivery fails, writing goes on in a further file
  const auto delivered = deliver_spool(state_, *store_);
  if (!delivered || spool_pending(state_)) return;
  behind_ = false;
  log::notice(fmt::format("the store is back; {} writes delivered from the spool", delivered->writes));
}

template <class Direct, class Line>
Status SpoolingRecorder::write(Direct direct, Line line) {
  try_to_deliver(false);
  if (behind_) return spool(line());
  std::string why = "it could not be opened";
  if (store_ != nullptr) {
    Status done = direct();
    if (done || !away(done.error())) return done;
    why = done.error().message;
  }
  log::warning("the store is away (" + why + "); what is measured goes into " + (state_ / "spool").string() +
               " and is delivered later");
  behind_ = true;
  last_try_ = std::chrono::steady_clock::now();
  return spool(line());
}

Status SpoolingRecorder::put_machine(const Machine& machine) {
  return write([&] { return store_->put_machine(machine); }, [&] { return spool_lines::put_machine(machine); });
}
Status SpoolingRecorder::put_definition(const std::string& hash, const std::string& text) {
  return write([&] { return store_->put_definition(hash, text); },
               [&] { return spool_lines::put_definition(hash, text); });
}
Status SpoolingRecorder::put_target(const std::string& project, const Target& target) {
  return write([&] { return store_->put_target(project, target); },
               [&] { return spool_lines::put_target(project, target); });
}
Status SpoolingRecorder::begin_run(const Run& run) {
  return write([&] { return store_->begin_run(run); }, [&] { return spool_lines::begin_run(run); });
}
Status SpoolingRecorder::finish_run(const std::string& uuid, RunState state, Instant ended, const std::string& result) {
  return write([&] { return store_->finish_run(uuid, state, ended, result); },
               [&] { return spool_lines::finish_run(uuid, state, ended, result); });
}

Result<Night> SpoolingRecorder::begin_night(const Run& run, Sequence attempt_of, Unfinished unfinished) {
  std::optional<Night> night;
  const auto direct = [&]() -> Status {
    NG_TRY(night, store_->begin_night(run, attempt_of, unfinished));
    return {};
  };
  NG_CHECK(write(direct, [&] { return spool_lines::begin_night(run, attempt_of); }));
  if (night) return *night;
  Night out;  // numbered when it is delivered
  out.project = run.project;
  out.machine = run.machine;
  out.started = run.started;
  out.run = run.uuid;
  out.machine_class = run.machine_class;
  return out;
}

Status SpoolingRecorder::set_night_target(const std::string& run, const Target& target, const std::string& definition) {
  return write([&] { return store_->set_night_target(run, target, definition); },
               [&] { return spool_lines::set_night_target(run, target, definition); });
}
Status SpoolingRecorder::put_measurement(const Measurement& measurement) {
  return write([&] { return store_->put_measurement(measurement); },
               [&] { return spool_lines::put_measurement(measurement); });
}
Status SpoolingRecorder::put_readings(const std::string& run, const judge::NightInput& input,
                                      const std::vector<MetricInfo>& metrics) {
  try_to_deliver(true);
  return write([&] { return store_->put_readings(run, input, metrics); },
               [&] { return spool_lines::put_readings(run, input, metrics); });
}
Status SpoolingRecorder::set_night(const std::string& run, NightState state, const std::string& reason) {
  return write([&] { return store_->set_night(run, state, reason); },
               [&] { return spool_lines::set_night(run, state, reason); });
}
Status SpoolingRecorder::put_noise(const std::string& project, const std::string& machine,
                                   const std::vector<Noise>& noise) {
  return write([&] { return store_->put_noise(project, machine, noise); },
               [&] { return spool_lines::put_noise(project, machine, noise); });
}

}  // namespace nightgate::store
