/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/lab/scenario.h"

static const struct scenario_builtin builtins[] = {
    {"three-tenants-flooder",
     "text: two modest tenants (10 % and 25 % of L*) beside one that brings the rest of the load\n"
     "tenants:\n"
     "  - {name: light, load: 0.10}\n"
     "  - {name: medium, load: 0.25}\n"
     "  - {name: flooder}\n"},
    {"pulse", "text: 1.5 L* for half an hour, then 0.6, does it recover?\n"
              "load:\n"
              "  - {from_s: 0, share: 1.5}\n"
              "  - {from_s: 1800, share: 0.6}\n"},
    {"lose-caches", "text: engines 0 to 3 lose their caches after 15 minutes and go on serving\n"
                    "events:\n"
                    "  - {at_s: 900, kind: lose-cache, engines: 0-3}\n"},
    {"crash-restart",
     "text: engines 0 and 1 die after 10 minutes and are back, empty, two minutes later\n"
     "events:\n"
     "  - {at_s: 600, kind: crash, engines: 0-1, for_s: 120}\n"},
    {"slow-engine", "text: engine 0 computes at a third of its speed from minute 5 to minute 20\n"
                    "events:\n"
                    "  - {at_s: 300, kind: slow, engines: 0, factor: 3, for_s: 900}\n"},
    {"partition", "text: the gateway cannot reach engines 0 to 3 from minute 10 for one minute\n"
                  "events:\n"
                  "  - {at_s: 600, kind: partition, engines: 0-3, for_s: 60}\n"},
    {"lossy-network",
     "text: 20 ms each way and up to 10 more, 2 % lost, 5 % twice, probes answered 2 s late\n"
     "network: {latency_ms: 20, jitter_ms: 10, loss: 0.02, duplicate: 0.05}\n"
     "stale_s: 2\n"},
    {"two-models-one-jammed",
     "text: half the engines serve each model, one of which gets 1.6 times what they carry\n"
     "models:\n"
     "  - {name: calm, engines_share: 0.5}\n"
     "  - {name: jammed, engines_share: 0.5}\n"
     "tenants:\n"
     "  - {name: calm-users, load: 0.2, model: calm}\n"
     "  - {name: jammed-users, load: 0.8, model: jammed}\n"},
};

const struct scenario_builtin *scenario_builtin_at(size_t i)
{
    return i < sizeof(builtins) / sizeof(builtins[0]) ? &builtins[i] : NULL;
}
