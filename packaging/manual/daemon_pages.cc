#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "daemon/settings/command_line.h"
#include "daemon/settings/config_keys.h"
#include "packaging/manual/pages.h"
#include "packaging/manual/roff.h"

namespace actord::manual {
namespace {

using daemon::Config;
using daemon::ConfigKey;
using daemon::ConfigKeys;

constexpr size_t kCommentWidth = 78;

std::string_view SectionOf(const ConfigKey& key) {
  return key.path.substr(0, key.path.find('.'));
}

std::string_view NameOf(const ConfigKey& key) {
  return key.path.substr(key.path.find('.') + 1);
}

void AddFiles(RoffPage& page) {
  page.Section("FILES");
  page.Term("/etc/actord/actord.toml", "",
            "The configuration of the systemd service; see actord.toml(5).");
  page.Term("/run/actord/actord.sock", "",
            "The Unix socket of the systemd service. Members of the group "
            "actord may use it.");
  page.Term("/var/lib/actord/store", "",
            "The store of the systemd service, with its durable processes.");
  page.Term("/usr/lib/actord/plugins", "",
            "Plugins that the systemd service loads at its start.");
}

// The settings that the package sets, by their path.
const std::map<std::string_view, std::string_view>& PackagedValues() {
  static const auto& values = *new std::map<std::string_view, std::string_view>{
      {"server.listen", R"(["unix:/run/actord/actord.sock"])"},
      {"server.unix_mode", R"("0660")"},
      {"plugins.directories", R"(["/usr/lib/actord/plugins"])"},
      {"store.directory", R"("/var/lib/actord/store")"}};
  return values;
}

void AppendComment(std::string_view text, std::string& out) {
  std::string line = "#";
  const std::vector<std::string> words = absl::StrSplit(std::string(text), ' ');
  for (const std::string& word : words) {
    if (line.size() + 1 + word.size() > kCommentWidth) {
      absl::StrAppend(&out, line, "\n");
      line = "#";
    }
    absl::StrAppend(&line, " ", word);
  }
  absl::StrAppend(&out, line, "\n");
}

}  // namespace

std::string DaemonPage(const Edition& edition) {
  RoffPage page({"actord", 8, edition.date, edition.version});
  page.Section("NAME");
  page.Paragraph(
      "actord - daemon that hosts processes and serves them over "
      "gRPC");
  page.Section("SYNOPSIS");
  page.Paragraph("actord [OPTION]...");
  page.Section("DESCRIPTION");
  page.Paragraph(
      "actord runs processes: light state machines that plugins define. "
      "Clients start processes, send them messages and complete their external "
      "commands over gRPC; actorctl(1) does so from a shell. With --store, "
      "processes whose types support it survive the daemon.");
  page.Paragraph(daemon::PrecedenceText());
  page.Section("OPTIONS");
  for (const daemon::PlainOption& option : daemon::PlainOptions()) {
    page.Term(option.name, option.value, option.doc);
  }
  const Config defaults;
  std::string_view section;
  for (const ConfigKey& key : ConfigKeys()) {
    if (SectionOf(key) != section) {
      section = SectionOf(key);
      page.Subsection(
          absl::StrCat("Settings of the section ", std::string(section)));
    }
    page.Term(absl::StrCat("--", std::string(key.option)), key.value,
              absl::StrCat(key.doc, " [", std::string(key.path), ", env ",
                           daemon::EnvironmentName(key), ", default ",
                           key.print(defaults), "]"));
  }
  page.Section("SIGNALS");
  page.Term("SIGTERM, SIGINT", "",
            "The first one drains for --drain-timeout; the second ends all "
            "processes at once; the third exits immediately.");
  page.Term("SIGHUP", "",
            "Reads the configuration and the files of TLS again. A wrong "
            "configuration is reported and changes nothing.");
  page.Section("EXIT STATUS");
  for (const auto& [status, meaning] : daemon::ExitStatusTexts()) {
    page.Term(absl::StrCat(status), "", meaning);
  }
  page.Section("ENVIRONMENT");
  page.Paragraph(
      "Each setting has a variable, which its option above names; "
      "ACTORD_CONFIG names the configuration file.");
  page.Term("NOTIFY_SOCKET, WATCHDOG_USEC", "",
            "Set by systemd(1): the daemon says when it serves, reloads and "
            "stops, and says regularly that its scheduler moves.");
  page.Term("LISTEN_FDS", "",
            "Set by systemd(1): the daemon serves on these sockets.");
  AddFiles(page);
  page.Section("SEE ALSO");
  page.Paragraph("actorctl(1), actord.toml(5), systemd.service(5)");
  return page.text();
}

std::string ConfigurationPage(const Edition& edition) {
  RoffPage page({"actord.toml", 5, edition.date, edition.version});
  page.Section("NAME");
  page.Paragraph("actord.toml - configuration file of actord");
  page.Section("DESCRIPTION");
  page.Paragraph(
      "The file is TOML, of at most 1 MiB. Option --config or the variable "
      "ACTORD_CONFIG of actord(8) names it. A file with an unknown key or "
      "section is refused, and the error names the line. Options and variables "
      "outweigh the file.");
  page.Paragraph(
      "A duration is a text such as \"250ms\", \"30s\", \"1m30s\" or \"2h\"; "
      "\"none\" means for ever. A size is a number of bytes, or a text with a "
      "unit: \"64KiB\", \"16MiB\" and \"1GiB\" are powers of 1024, \"KB\", "
      "\"MB\" and \"GB\" powers of 1000.");
  page.Paragraph(
      "actord --config FILE --check-config checks a file. actord "
      "--print-config prints the settings that would be in force, "
      "as a file.");
  const Config defaults;
  std::string_view section;
  for (const ConfigKey& key : ConfigKeys()) {
    if (SectionOf(key) != section) {
      section = SectionOf(key);
      page.Section(absl::StrCat("[", std::string(section), "]"));
    }
    page.Term(NameOf(key), absl::StrCat("= ", std::string(key.value)),
              absl::StrCat(key.doc, " Default: ", key.print(defaults), "."));
  }
  page.Section("EXAMPLE");
  page.Lines(
      "[server]\nlisten = [\"unix:/run/actord/actord.sock\"]\n\n"
      "[plugins]\ndirectories = [\"/usr/lib/actord/plugins\"]\n\n"
      "[store]\ndirectory = \"/var/lib/actord/store\"\n");
  AddFiles(page);
  page.Section("SEE ALSO");
  page.Paragraph("actord(8)");
  return page.text();
}

std::string PackagedConfiguration() {
  std::string text =
      "# The configuration of the service actord; see actord.toml(5). "
      "\"actord\n"
      "# --config FILE --check-config\" checks it. \"systemctl reload actord\" "
      "applies\n"
      "# the settings that say so; the others need a restart.\n";
  const Config defaults;
  std::string_view section;
  for (const ConfigKey& key : ConfigKeys()) {
    if (SectionOf(key) != section) {
      section = SectionOf(key);
      absl::StrAppend(&text, "\n[", std::string(section), "]\n");
    }
    text += '\n';
    AppendComment(key.doc, text);
    const auto packaged = PackagedValues().find(key.path);
    if (packaged != PackagedValues().end()) {
      absl::StrAppend(&text, std::string(NameOf(key)), " = ",
                      std::string(packaged->second), "\n");
    } else {
      absl::StrAppend(&text, "# ", std::string(NameOf(key)), " = ",
                      key.print(defaults), "\n");
    }
  }
  return text;
}

}  // namespace actord::manual
