// A daemon with a store on the disk of the directory for temporary files.
//
// Thread-safety: one thread. Ownership: owns the daemon and the store. No other
// thread may be running when it is made, because the daemon is started by fork.
#pragma once

#include <grpcpp/create_channel.h>

#include <cstdint>
#include <fstream>
#include <memory>
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

 private:
  const TemporaryDirectory directory_;
  const ServerProcess server_;
};

}  // namespace actord::bench
