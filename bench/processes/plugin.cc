// The plugin with the benchmark's processes: loaded as any other plugin, so
// that a workload goes the way that every process goes.
#include <actord/plugin.h>

#include "bench/processes/drain.h"
#include "bench/processes/fanin.h"
#include "bench/processes/pairs.h"
#include "bench/processes/ring.h"
#include "bench/processes/skynet.h"
#include "bench/processes/spawn.h"

ACTORD_EXPORT_PLUGIN(
    "bench", "1.0.0",
    actord::ProcessTypes<actord::bench::Bouncer, actord::bench::Drain,
                         actord::bench::FaninProducer, actord::bench::FaninRoot,
                         actord::bench::FaninSink, actord::bench::PairsRoot,
                         actord::bench::RingNode, actord::bench::RingRoot,
                         actord::bench::Skynet, actord::bench::SpawnChild,
                         actord::bench::SpawnSink, actord::bench::Spawner>);
