#include "gate/base/spawn.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

#include "gate/base/secrets.hpp"

namespace nightgate::spawn {
namespace {

// Everything exec needs, made before any fork: nothing may be allocated in the child.
struct Prepared {
  std::string program;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
  std::vector<char*> argv;
  std::vector<char*> envp;
};

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  out.reserve(texts.size() + 1);
  for (auto& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

std::vector<std::string> environment_of(const Command& command) {
  std::vector<std::string> out;
  for (char** entry = environ; !command.clear_environment && *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto name = text.substr(0, text.find('='));
    if (command.environment.count(std::string(name)) == 0 && !is_kept_from_children(name)) out.emplace_back(text);
  }
  for (const auto& [name, value] : command.environment) out.push_back(name + "=" + value);
  return out;
}

Result<std::string> program_of(const Command& command) {
  const auto& name = command.argv.front();
  if (name.find('/') != std::string::npos) return name;  // relative to command.directory, as exec sees it
  const auto found = find_program(name);
  if (found) return found->string();
  return fail(Code::not_found, fmt::format("no program '{}' in PATH; install it or give its full path", name));
}

Status check(const Command& command) {
  const auto has_nul = [](const std::string& text) { return text.find('\0') != std::string::npos; };
  if (command.argv.empty() || command.argv.front().empty()) return fail(Code::usage, "a command without a program");
  if (std::any_of(command.argv.begin(), command.argv.end(), has_nul)) {
    return fail(Code::usage, fmt::format("an argument of {} holds a zero byte", command.argv.front()));
  }
  for (const auto& [name, value] : command.environment) {
    if (name.empty() || name.find('=') != std::string::npos || has_nul(name) || has_nul(value)) {
      return fail(Code::usage, fmt::format("'{}' can't be an environment variable", name));
    }
  }
  if (!command.directory.empty() && !fs::is_directory(command.directory)) {
    return fail(Code::io, fmt::format("cannot start {}: {} is not a directory", command.argv.front(),
                                      command.directory.string()));
  }
  return {};
}

Result<Prepared> prepare(const Command& command) {
  NG_CHECK(check(command));
  Prepared out;
  NG_TRY(out.program, program_of(command));
  out.arguments = command.argv;
  out.environment = environment_of(command);
  out.argv = pointers(out.arguments);
  out.envp = pointers(out.environment);
  return out;
}

tl::unexpected<Error> start_error(const Command& command, const Prepared& prepared, int error) {
  const auto& name = command.argv.front();
  const auto place = prepared.program.front() == '/' || command.directory.empty()
                         ? fs::path(prepared.program)
                         : command.directory / prepared.program;
  std::error_code ignored;
  if (error == ENOENT && fs::exists(place, ignored)) {
    return fail(Code::not_found,
                fmt::format("cannot start {}: the file is there, its interpreter or loader is not", name));
  }
  if (error == ENOENT || error == ENOTDIR) {
    return fail(Code::not_found, fmt::format("cannot start {}: there is no {}", name, place.string()));
  }
  return fail(Code::io, fmt::format("cannot start {}: {}", name, errno_text(error)));
}

// Somebody who ignored SIGCHLD before starting us would make the kernel throw away our children's results.
void keep_child_results() {
  static std::once_flag once;
  std::call_once(once, [] {
    struct sigaction now {};
    if (::sigaction(SIGCHLD, nullptr, &now) != 0) return;
    if (now.sa_handler != SIG_IGN && (now.sa_flags & SA_NOCLDWAIT) == 0) return;
    now.sa_handler = SIG_DFL;
    now.sa_flags = 0;
    ::sigaction(SIGCHLD, &now, nullptr);
  });
}

Result<pid_t> start_by_spawn(const Command& command, const Streams& streams, Prepared& prepared) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  const Defer clean([&] {
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
  });

  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  int error =
      posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  if (error == 0) error = posix_spawnattr_setsigdefault(&attributes, &all);
  if (error == 0) error = posix_spawnattr_setsigmask(&attributes, &none);
  if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, streams.in, STDIN_FILENO);
  if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, streams.out, STDOUT_FILENO);
  if (error == 0) error = posix_spawn_file_actions_adddup2(&actions, streams.err, STDERR_FILENO);
  if (error == 0) error = posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  if (error == 0 && !command.directory.empty()) {
    error = posix_spawn_file_actions_addchdir_np(&actions, command.directory.c_str());
  }
  pid_t pid = -1;
  if (error == 0) {
    error = ::posix_spawn(&pid, prepared.program.c_str(), &actions, &attributes, prepared.argv.data(),
                          prepared.envp.data());
  }
  if (error != 0) return start_error(command, prepared, error);
  return pid;
}

void close_from(unsigned first) {
  if (::syscall(SYS_close_range, first, ~0U, 0U) == 0) return;
  for (int fd = static_cast<int>(first); fd < 65536; ++fd) ::close(fd);  // kernels before 5.9
}

// In the child between fork and exec: system calls only. Ends by exec, or by writing errno into `report`.
[[noreturn]] void become(const Command& command, const Streams& streams, Prepared& prepared, int report) {
  constexpr int report_fd = 3;
  struct sigaction standard {};
  standard.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) ::sigaction(number, &standard, nullptr);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);

  const auto [uid, gid] = *command.user;
  // `report` is above the three and our own three are dupped first, so 3 is free to be overwritten after them.
  const bool done = ::setsid() >= 0 && ::dup2(streams.in, STDIN_FILENO) >= 0 &&
                    ::dup2(streams.out, STDOUT_FILENO) >= 0 && ::dup2(streams.err, STDERR_FILENO) >= 0 &&
                    (report == report_fd || ::dup3(report, report_fd, O_CLOEXEC) >= 0);
  if (!done) ::_exit(127);
  close_from(report_fd + 1);
  if (::setgroups(0, nullptr) == 0 && ::setresgid(gid, gid, gid) == 0 && ::setresuid(uid, uid, uid) == 0 &&
      (command.directory.empty() || ::chdir(command.directory.c_str()) == 0)) {
    ::execve(prepared.program.c_str(), prepared.argv.data(), prepared.envp.data());
  }
  const int error = errno;
  [[maybe_unused]] const auto written = ::write(report_fd, &error, sizeof error);
  ::_exit(127);
}

// posix_spawn can't change the user, so this one forks. The pipe says whether exec was reached.
Result<pid_t> start_as_user(const Command& command, const Streams& streams, Prepared& prepared) {
  if (::geteuid() != 0) {
    return fail(Code::usage, fmt::format("cannot start {} as user {}: only root may change the user",
                                         command.argv.front(), command.user->first));
  }
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return start_error(command, prepared, errno);
  Fd report(ends[0]);
  NG_TRY(Fd report_in, lifted(Fd(ends[1])));

  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);  // none of our handlers may run in the child
  const pid_t pid = ::fork();
  if (pid == 0) become(command, streams, prepared, report_in.get());
  const int fork_error = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return start_error(command, prepared, fork_error);

  report_in.reset();
  int error = 0;
  ssize_t got = 0;
  do {
    got = ::read(report.get(), &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  if (got == 0) return pid;
  (void)reap(pid);
  return start_error(command, prepared, got == sizeof error ? error : EIO);
}

Status pin_this_thread(const CpuSet& cpus) {
  const auto highest = *std::max_element(cpus.begin(), cpus.end());
  if (highest >= 1 << 16 || *std::min_element(cpus.begin(), cpus.end()) < 0) {
    return fail(Code::usage, fmt::format("'{}' are no CPU numbers", format_cpus(cpus)));
  }
  const auto count = static_cast<std::size_t>(std::max(highest + 1, CPU_SETSIZE));
  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> asked(CPU_ALLOC(count), [](cpu_set_t* set) { CPU_FREE(set); });
  const auto size = CPU_ALLOC_SIZE(count);
  CPU_ZERO_S(size, asked.get());
  for (const int cpu : cpus) CPU_SET_S(static_cast<std::size_t>(cpu), size, asked.get());
  const int wanted = CPU_COUNT_S(size, asked.get());
  // The kernel quietly drops CPUs that don't exist or that our cgroup forbids; a measurement must not.
  if (::sched_setaffinity(0, size, asked.get()) != 0 || ::sched_getaffinity(0, size, asked.get()) != 0 ||
      CPU_COUNT_S(size, asked.get()) != wanted) {
    return fail(Code::measure,
                fmt::format("cannot run on CPUs {}: this machine, or the cgroup we are in, does not have "
                            "them all",
                            format_cpus(cpus)));
  }
  return {};
}

// The affinity of a new process is that of the thread that starts it, so a thread of its own is pinned for that.
Result<pid_t> on_cpus(const CpuSet& cpus, const std::function<Result<pid_t>()>& start) {
  if (cpus.empty()) return start();
  Result<pid_t> result = fail(Code::internal, "the pinned thread did not run");
  std::thread helper([&] {
    if (auto pinned = pin_this_thread(cpus); !pinned) {
      result = tl::unexpected<Error>(pinned.error());
    } else {
      result = start();
    }
  });
  helper.join();
  return result;
}

}  // namespace

Result<Fd> lifted(Fd fd) {
  if (fd.get() > STDERR_FILENO) return fd;
  Fd higher(::fcntl(fd.get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!higher) return fail(Code::io, fmt::format("cannot copy a descriptor: {}", errno_text(errno)));
  return higher;
}

Result<Fd> input_of(const Command& command) {
  if (command.input.empty()) {
    Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!null) return fail(Code::io, fmt::format("cannot open /dev/null: {}", errno_text(errno)));
    return lifted(std::move(null));
  }
  Fd file(::memfd_create("nightgate-input", MFD_CLOEXEC));
  std::string_view rest = command.input;
  while (file && !rest.empty()) {
    const auto n = ::write(file.get(), rest.data(), rest.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  if (!file || !rest.empty() || ::lseek(file.get(), 0, SEEK_SET) != 0) {
    return fail(Code::io, fmt::format("cannot keep {} bytes of input for {}: {}", command.input.size(),
                                      command.argv.empty() ? "" : command.argv.front(), errno_text(errno)));
  }
  return lifted(std::move(file));
}

Result<pid_t> start(const Command& command, const Streams& streams) {
  keep_child_results();
  NG_TRY(auto prepared, prepare(command));
  return on_cpus(command.cpus, [&] {
    return command.user ? start_as_user(command, streams, prepared) : start_by_spawn(command, streams, prepared);
  });
}

}  // namespace nightgate::spawn
