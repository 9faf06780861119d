// The plugin with the benchmark's processes: loaded as any other plugin, so
// that a workload goes the way that every process goes.
#include <actord/plugin.h>

#include "bench/processes/blockers.h"
#include "bench/processes/crowd.h"
#include "bench/processes/drain.h"
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
    ProcessTypes<Blocker, BlockerInName, Bouncer, CoroutineBouncer, Crowd,
                 Drain, FaninProducer, FaninRoot, FaninSink, FanoutReceiver,
                 FanoutSender, Idler, Latency, Once, PairsRoot, RingNode,
                 RingRoot, Skynet, Sleeper, Sleepers, SpawnChild, SpawnSink,
                 Spawner, UndeclaredBlocker, Yielder>;

}  // namespace
}  // namespace actord::bench

ACTORD_EXPORT_PLUGIN("bench", "1.0.0", actord::bench::Types,
                     actord::Handlers<actord::bench::Nothing>);
