/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/simfleet.h"

#include "common/io/reactor/loop.h"
#include "common/io/reactor/net.h"
#include "common/rt/thread.h"
#include "simulator/worker/worker.h"

#include <stdio.h>
#include <unistd.h>

struct simfleet {
    struct loop *loop;
    struct thread thread;
    struct sim_worker *workers[SIMFLEET_MAX];
    char urls[SIMFLEET_MAX][64];
    uint32_t count;
};

static void run(void *arg)
{
    struct simfleet *fleet = arg;
    loop_run(fleet->loop);
}

static enum status add_worker(struct simfleet *fleet, double speed, struct err *err)
{
    struct net_addr addr;
    struct sim_worker_opts opts;
    int fd = -1;
    sim_worker_opts_init(&opts);
    opts.seed = fleet->count + 1;
    opts.speed = speed;
    enum status st = net_addr_parse(STR("127.0.0.1:0"), &addr, err);
    if (st == ST_OK) {
        st = net_listen(&addr, false, &fd, err);
    }
    if (st == ST_OK) {
        st = net_local_addr(fd, &addr);
    }
    if (st == ST_OK) {
        st = sim_worker_new(&fleet->workers[fleet->count], fleet->loop, &opts, fd, err);
    }
    if (st != ST_OK) {
        if (fd >= 0) {
            close(fd);
        }
        return st;
    }
    char text[NET_ADDR_TEXT_BYTES];
    net_addr_text(&addr, text);
    snprintf(fleet->urls[fleet->count], sizeof(fleet->urls[0]), "http://%.50s", text);
    fleet->count++;
    return ST_OK;
}

enum status simfleet_start(struct simfleet **ret, uint32_t count, double speed, struct err *err)
{
    struct simfleet *fleet = mem_calloc(mem_heap(), 1, sizeof(*fleet));
    if (fleet == NULL) {
        return err_set(err, ST_NOMEM, "simulated engines");
    }
    enum status st = loop_new(&fleet->loop, err);
    for (uint32_t i = 0; i < count && st == ST_OK; i++) {
        st = add_worker(fleet, speed, err);
    }
    if (st == ST_OK) {
        st = thread_start(&fleet->thread, "sim", run, fleet, err);
    }
    if (st != ST_OK) {
        simfleet_stop(fleet);
        return st;
    }
    *ret = fleet;
    return ST_OK;
}

const char *simfleet_url(const struct simfleet *fleet, uint32_t idx)
{
    return fleet->urls[idx];
}

uint64_t simfleet_kv_tokens(void)
{
    struct sim_worker_opts opts;
    sim_worker_opts_init(&opts);
    return opts.engine.profile.kv_tokens;
}

void simfleet_stop(struct simfleet *fleet)
{
    if (fleet == NULL) {
        return;
    }
    if (fleet->loop != NULL) {
        loop_stop(fleet->loop);
    }
    thread_join(&fleet->thread);
    for (uint32_t i = 0; i < fleet->count; i++) {
        sim_worker_free(fleet->workers[i]);
    }
    loop_free(fleet->loop);
    mem_free(mem_heap(), fleet, sizeof(*fleet));
}
