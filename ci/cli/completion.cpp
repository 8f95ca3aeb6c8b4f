// completion: shells' completions and the manual page, made from the command line itself (describe() in cli.hpp).
#include <fmt/format.h>

#include <algorithm>

#include "ci/cli/cli.hpp"
#include "ci/cli/output.hpp"

namespace nightgate::cli {
namespace {

std::string replaced(std::string text, std::string_view what, std::string_view by) {
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
  return text;
}

std::string joined(const std::vector<std::string>& words, std::string_view between = " ") {
  return fmt::format("{}", fmt::join(words, between));
}

// The words that can come for a positional: the choices of the first that has some.
std::vector<std::string> positional_choices(const VerbHelp& verb) {
  for (const auto& option : verb.options) {
    if (option.names.empty() && !option.choices.empty()) return option.choices;
  }
  return {};
}

// 'text' for a POSIX shell and zsh.
std::string shell_quote(const std::string& text) { return "'" + replaced(text, "'", "'\\''") + "'"; }

std::string bash_verb(const std::string& pattern, const VerbHelp& verb, const std::vector<std::string>& words) {
  std::vector<std::string> names, with_value;
  std::string choices;
  for (const auto& option : verb.options) {
    names.insert(names.end(), option.names.begin(), option.names.end());
    if (option.names.empty() || option.value.empty()) continue;
    if (option.choices.empty()) {
      with_value.insert(with_value.end(), option.names.begin(), option.names.end());
    } else {
      choices += fmt::format("        {}) words={} options= ;;\n", joined(option.names, "|"),
                             shell_quote(joined(option.choices)));
    }
  }
  if (!with_value.empty()) choices += fmt::format("        {}) return ;;\n", joined(with_value, "|"));
  auto out = fmt::format("    {})\n      options={} words={}\n", pattern, shell_quote(joined(names)),
                         shell_quote(joined(words)));
  if (!choices.empty()) out += "      case $previous in\n" + choices + "      esac\n";
  return out + "      ;;\n";
}

std::string bash(const ProgramHelp& help) {
  std::vector<std::string> verbs;
  for (const auto& verb : help.verbs) verbs.push_back(verb.name);
  std::string out =
      "# Completion of nightgate for bash; made by `nightgate completion bash`.\n"
      "_nightgate() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} verb='' options='' words='' i\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    if [[ ${COMP_WORDS[i]} != -* ]]; then verb=${COMP_WORDS[i]}; break; fi\n"
      "  done\n"
      "  COMPREPLY=()\n"
      "  case $verb in\n";
  out += bash_verb("''", help.program, verbs);
  for (const auto& verb : help.verbs) out += bash_verb(verb.name, verb, positional_choices(verb));
  return out +
         "  esac\n"
         "  if [[ $current == -* ]]; then words=$options; fi\n"
         "  mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
         "}\n"
         "complete -o default -F _nightgate nightgate\n";
}

std::string zsh_text(std::string text) {
  for (const auto* special : {"[", "]", ":"}) text = replaced(text, special, std::string("\\") + special);
  return text;
}

std::string zsh_verb(const VerbHelp& verb) {
  std::string out = fmt::format("    {})\n      _arguments -s", verb.name);
  const auto action = [](const OptionHelp& option) {
    return option.choices.empty() ? std::string("_files") : "(" + joined(option.choices) + ")";
  };
  for (const auto& option : verb.options) {
    for (const auto& name : option.names) {
      const auto value = option.value.empty() ? "" : fmt::format(":value:{}", action(option));
      out += " \\\n        " + shell_quote(fmt::format("*{}[{}]{}", name, zsh_text(option.help), value));
    }
    if (option.names.empty()) {
      out += " \\\n        " + shell_quote(fmt::format("*:{}:{}", zsh_text(option.value), action(option)));
    }
  }
  return out + "\n      ;;\n";
}

std::string zsh(const ProgramHelp& help) {
  std::string out =
      "#compdef nightgate\n# Completion of nightgate for zsh; made by `nightgate completion zsh`.\n"
      "_nightgate() {\n  local -a verbs\n  verbs=(\n";
  for (const auto& verb : help.verbs) {
    out += "    " + shell_quote(verb.name + ":" + zsh_text(verb.does)) + "\n";
  }
  out +=
      "  )\n  if (( CURRENT == 2 )); then\n    _describe verb verbs\n    return\n  fi\n"
      "  shift words\n  (( CURRENT-- ))\n  case $words[1] in\n";
  for (const auto& verb : help.verbs) out += zsh_verb(verb);
  return out + "  esac\n}\n_nightgate \"$@\"\n";
}

std::string fish_quote(const std::string& text) {
  return "'" + replaced(replaced(text, "\\", "\\\\"), "'", "\\'") + "'";
}

std::string fish(const ProgramHelp& help) {
  std::string out = "# Completion of nightgate for fish; made by `nightgate completion fish`.\n";
  const auto options = [&](const VerbHelp& verb, const std::string& when) {
    for (const auto& option : verb.options) {
      if (option.names.empty()) {
        if (!option.choices.empty()) {
          out += fmt::format("complete -c nightgate -n {} -f -a {} -d {}\n", fish_quote(when),
                             fish_quote(joined(option.choices)), fish_quote(option.help));
        }
        continue;
      }
      out += "complete -c nightgate -n " + fish_quote(when);
      for (const auto& name : option.names) {
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      if (!option.choices.empty()) {
        out += " -x -a " + fish_quote(joined(option.choices));
      } else if (!option.value.empty()) {
        out += " -r";
      }
      out += " -d " + fish_quote(option.help) + "\n";
    }
  };
  options(help.program, "__fish_use_subcommand");
  for (const auto& verb : help.verbs) {
    out += fmt::format("complete -c nightgate -n __fish_use_subcommand -f -a {} -d {}\n", verb.name,
                       fish_quote(verb.does));
    options(verb, "__fish_seen_subcommand_from " + verb.name);
  }
  return out;
}

// Text for the manual page: no macro at a line's begin, hyphens that can be copied.
std::string roff(const std::string& text) {
  auto out = replaced(replaced(text, "\\", "\\e"), "-", "\\-");
  out = replaced(out, "\n.", "\n\\&.");
  out = replaced(out, "\n'", "\n\\&'");
  return !out.empty() && (out[0] == '.' || out[0] == '\'') ? "\\&" + out : out;
}

std::string roff_option(const OptionHelp& option) {
  std::string head;
  for (const auto& name : option.names) head += (head.empty() ? "\\fB" : ", \\fB") + roff(name) + "\\fR";
  if (option.names.empty()) {
    head = "\\fI" + roff(option.value) + "\\fR";
  } else if (!option.value.empty()) {
    head += " \\fI" + (option.choices.empty() ? roff(option.value) : roff(joined(option.choices, "|"))) + "\\fR";
  }
  return ".TP\n" + head + "\n" + roff(option.help) + (option.required ? " (required)" : "") + "\n";
}

std::string man(const ProgramHelp& help) {
  std::string out = fmt::format(
      ".\\\" Made by `nightgate completion man`.\n.TH NIGHTGATE 1 \"\" \"nightgate {}\" \"User commands\"\n",
      NIGHTGATE_VERSION);
  out +=
      ".SH NAME\nnightgate \\- a performance\\-regression gate for servers\n"
      ".SH SYNOPSIS\n.B nightgate\n.I VERB\n.RI [ OPTIONS ]\n"
      ".SH DESCRIPTION\nnightgate measures a server every night, judges the night against the ones before, and names "
      "the "
      "merge that made the server slower.\nThe same measuring core compares two versions, and answers a pull request.\n"
      ".SH VERBS\n";
  for (const auto& verb : help.verbs) {
    out += fmt::format(".SS {}\n{}.\n", roff(verb.name), roff(verb.does));
    for (const auto& option : verb.options) {
      if (option.help.find("Print this help") == std::string::npos) out += roff_option(option);
    }
    const auto line = verb.footer.find('\n');
    if (line != std::string::npos) {
      out += fmt::format(".PP\nExample:\n.PP\n.nf\n{}\n.fi\n", roff(verb.footer.substr(line + 1)));
    }
  }
  out += ".SH OPTIONS\n";
  for (const auto& option : help.program.options) out += roff_option(option);
  out += ".SH EXIT STATUS\n" + roff(help.program.footer) + "\n";
  return out +
         ".SH ENVIRONMENT\nVariables that the configuration names in keys ending in \\fB_env\\fR hold secrets; where "
         "one is "
         "not set, the systemd credential of that name in \\fB$CREDENTIALS_DIRECTORY\\fR is read (also in lower case "
         "with "
         "\\- for _).\n"
         ".SH FILES\n.TP\n\\fInightgate.json\\fR\nthe configuration, in the working directory unless "
         "\\fB\\-\\-config\\fR "
         "names another\n.TP\n\\fI/etc/nightgate/nightgate.json\\fR\nthe configuration that the units of systemd use\n"
         ".TP\n\\fI/var/lib/nightgate\\fR\ntheir state: one directory a project\n";
}

}  // namespace

Result<int> verb_completion(const Options& options) {
  const auto help = describe();
  const auto& what = options.action;
  print(what == "bash" ? bash(help) : what == "zsh" ? zsh(help) : what == "fish" ? fish(help) : man(help));
  return 0;
}

}  // namespace nightgate::cli
