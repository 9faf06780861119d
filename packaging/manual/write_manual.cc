// Writes the pages of the manual and the packaged configuration: write_manual
// DIRECTORY DATE VERSION.
#include <cstdio>
#include <fstream>
#include <string>
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
  const std::vector<std::pair<std::string, std::string>> files = {
      {"actord.8", DaemonPage(edition)},
      {"actord.toml.5", ConfigurationPage(edition)},
      {"actorctl.1", ClientPage(edition)},
      {"actord.toml", PackagedConfiguration()}};
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
