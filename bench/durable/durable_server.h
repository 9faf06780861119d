// A daemon with a store on the disk of the directory for temporary files.
//
// Thread-safety: one thread. Ownership: owns the daemon and the store. No other
// thread may be running when it is made, because the daemon is started by fork.
#pragma once

#include <grpcpp/create_channel.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "actord/v1/actor_service.grpc.pb.h"
#include "bench/program_files.h"
#include "bench/rpc/daemon_arguments.h"
#include "bench/rpc/server_process.h"
#include "bench/temporary_directory.h"

namespace actord::bench {

class DurableServer {
 public:
  explicit DurableServer(int workers)
      : server_(ProgramPath("actord"),
                DaemonArguments(workers, directory_.path() + "/store")) {}

  // A directory on the same disk, for other files.
  [[nodiscard]] const std::string& directory() const {
    return directory_.path();
  }
  [[nodiscard]] std::unique_ptr<v1::ActorService::Stub> NewStub() const {
    return v1::ActorService::NewStub(grpc::CreateChannel(
        server_.address(), grpc::InsecureChannelCredentials()));
  }
  [[nodiscard]] double CpuSeconds() const { return server_.CpuSeconds(); }
  [[nodiscard]] const ServerProcess& process() const { return server_; }
  // What the daemon has written to its files so far: the journal, the segments
  // that are made ahead, and the state store.
  [[nodiscard]] uint64_t WrittenBytes() const {
    std::ifstream io(absl::StrCat("/proc/", server_.pid(), "/io"));
    std::string name;
    uint64_t value = 0;
    while (io >> name >> value) {
      if (name == "wchar:") return value;
    }
    Fail("cannot read what the daemon has written");
  }
  // The part of the written bytes that filled new segments with zeros since the
  // last call. Segments that are used again are not filled again. To be called
  // at least once for each 256 MiB of records, so that it sees each segment.
  uint64_t ZeroedBytes() {
    uint64_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(
             directory_.path() + "/store/journal")) {
      struct stat file {};
      if (entry.path().extension() == ".seg" &&
          stat(entry.path().c_str(), &file) == 0 &&
          segments_.insert(file.st_ino).second) {
        bytes += static_cast<uint64_t>(file.st_size);
      }
    }
    return bytes;
  }

 private:
  // Inodes: a segment that is used again gets another name.
  std::set<ino_t> segments_;
  const TemporaryDirectory directory_;
  const ServerProcess server_;
};

}  // namespace actord::bench
