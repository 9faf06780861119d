// Writes the pages of the manual and the packaged configuration: write_manual
// DIRECTORY DATE VERSION. The pages of the commands of actorctl are in its
// folder commands.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "packaging/manual/pages.h"

int main(int argc, char** argv) {
  using namespace actord::manual;
  if (argc != 4) {
    std::fprintf(stderr, "usage: write_manual DIRECTORY DATE VERSION\n");
    return 2;
  }
  const std::string directory = argv[1];
  const Edition edition{argv[2], argv[3]};
  std::vector<std::pair<std::string, std::string>> files = {
      {"actord.8", DaemonPage(edition)},
      {"actord.toml.5", ConfigurationPage(edition)},
      {"actorctl.1", ClientPage(edition)},
      {"actord.toml", PackagedConfiguration()}};
  // Pages of commands that are no more would be installed.
  const std::string commands = directory + "/commands";
  std::error_code error;
  std::filesystem::remove_all(commands, error);
  std::filesystem::create_directory(commands, error);
  for (auto& [name, text] : CommandPages(edition)) {
    files.emplace_back("commands/" + name, std::move(text));
  }
  for (const auto& [name, text] : files) {
    std::ofstream file(directory + "/" + name, std::ios::binary);
    file << text;
    file.close();
    if (!file) {
      std::fprintf(stderr, "cannot write %s/%s\n", argv[1], name.c_str());
      return 1;
    }
  }
  return 0;
}
