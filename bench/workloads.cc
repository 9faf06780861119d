#include <array>

#include "bench/workload.h"
#include "runtime/system/cpu_latency.h"

namespace actord::bench {

std::span<const Workload> Workloads() {
  static constexpr std::array kWorkloads = {
      Workload{"pingpong", "2 processes bounce a number 2,000,000 times",
               RunPingpong},
      Workload{"pairs", "1000 pairs bounce a number 5000 times each", RunPairs},
      Workload{"coroutine",
               "what a coroutine adds to a message between 2 processes",
               RunCoroutine},
      Workload{"ring", "a number goes 2,000,000 times on in a ring of 1000",
               RunRing},
      Workload{"skynet", "a tree of 1,111,111 processes sums its leaves",
               RunSkynet},
      Workload{"spawn", "1,000,000 processes take one message each and end",
               RunSpawn},
      Workload{"fanin", "1000 processes send 5000 messages each to one",
               RunFanin},
      Workload{"submit",
               "1,000,000 processes of one step, submitted in-process",
               RunSubmit},
      Workload{"yield", "2,000,000 yields to an inline handler and back",
               RunYield},
      Workload{"send", "messages to 1, 10 and 1000 receivers", RunSend},
      Workload{"memory", "resident bytes of an idle process", RunMemory},
      Workload{"idle", "processor time of 1,000,000 idle processes in 10 s",
               RunIdle},
      Workload{"journal",
               "records to a journal on disk, beside a loop that only syncs",
               RunJournal},
      Workload{"wake", "from a send outside to its step on a sleeping worker",
               RunWake},
      Workload{"wake_polling",
               "the same, with processors that poll instead of sleeping",
               RunWakePolling, runtime::CpuLatency::kDevice},
      Workload{"scale", "a message's cost with 1000 to 1,000,000 processes",
               RunScale},
      Workload{"timers",
               "1,000,000 sleeps at the same time, which end within 5 s",
               RunTimers},
      Workload{"timers_dense", "the same, which end within 1 s",
               RunTimersDense},
      Workload{"blocked",
               "10,000 short processes beside 8 that block their thread",
               RunBlocked},
      Workload{"rpc-unary",
               "Send to an idle process, beside a bare gRPC server",
               RunRpcUnary},
      Workload{
          "rpc-unary-mtls",
          "the same with mutual TLS on both sides, and a token of a client",
          RunRpcUnaryMtls},
      Workload{"send_stream",
               "3,000,000 messages over gRPC to 1000 processes, in bulk",
               RunSendStream},
      Workload{"submit_stream",
               "600,000 submissions over gRPC and their results, in bulk",
               RunSubmitStream},
      Workload{"start", "from the daemon's start until it serves", RunStart},
      Workload{"calibrate", "the machine's own speed, without the runtime",
               RunCalibrate},
  };
  return kWorkloads;
}

}  // namespace actord::bench
