// The plugin with the benchmark's processes. It is loaded like any other
// plugin, so that workloads use the same code paths as real processes.
#include <actord/plugin.h>

#include "bench/processes/blockers.h"
#include "bench/processes/crowd.h"
#include "bench/processes/drain.h"
#include "bench/processes/durable.h"
#include "bench/processes/fanin.h"
#include "bench/processes/fanout.h"
#include "bench/processes/latency.h"
#include "bench/processes/once.h"
#include "bench/processes/pairs.h"
#include "bench/processes/ring.h"
#include "bench/processes/skynet.h"
#include "bench/processes/sleepers.h"
#include "bench/processes/spawn.h"
#include "bench/processes/yielder.h"

namespace actord::bench {
namespace {

using Types =
    ProcessTypes<Blocker, BlockerInName, Bouncer, ChainLink, CoroutineBouncer,
                 Crowd, Drain, DurableDrain, DurableOnce, FaninProducer,
                 FaninRoot, FaninSink, FanoutReceiver, FanoutSender, Idler,
                 Latency, Once, PairsRoot, RingNode, RingRoot, Skynet, Sleeper,
                 Sleepers, SpawnChild, SpawnSink, Spawner, UndeclaredBlocker,
                 Yielder>;

}  // namespace
}  // namespace actord::bench

ACTORD_EXPORT_PLUGIN("bench", "1.0.0", actord::bench::Types,
                     actord::Handlers<actord::bench::Nothing>);
