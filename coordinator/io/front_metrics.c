/* SPDX-License-Identifier: Apache-2.0 */
/* Brings what the reactor counts into the process's metrics: the difference to what was told
 * before, so that the gateways of several loops add up. */
#include "coordinator/io/front.h"

#include "common/rt/metric.h"
#include "coordinator/io/front_state.h"

static void add(enum metric id, unsigned value, uint64_t now, uint64_t *told)
{
    if (now != *told) {
        metric_add(id, value, 0, now - *told);
        *told = now;
    }
}

static void move(enum metric id, unsigned value, uint64_t now, uint64_t *told)
{
    if (now != *told) {
        metric_move(id, value, 0, (int64_t)(now - *told));
        *told = now;
    }
}

void front_publish_metrics(struct front *front)
{
    const struct http_server_counters *server = http_server_counters(front->server);
    const struct http_client_counters *client = http_client_counters(front->client);
    struct http_server_counters *told_server = &front->told_server;
    struct http_client_counters *told_client = &front->told_client;
    add(METRIC_CONNECTIONS_ACCEPTED, 0, server->accepted_count, &told_server->accepted_count);
    add(METRIC_ACCEPT_ERRORS, 0, server->accept_paused_count, &told_server->accept_paused_count);
    add(METRIC_BYTES, METRIC_DIRECTION_CLIENT_IN, server->bytes_in, &told_server->bytes_in);
    add(METRIC_BYTES, METRIC_DIRECTION_CLIENT_OUT, server->bytes_out, &told_server->bytes_out);
    add(METRIC_STALE_CONN_RETRIES, 0, client->stale_retry_count, &told_client->stale_retry_count);
    move(METRIC_CONNECTIONS, METRIC_SIDE_CLIENT, server->open_connections,
         &told_server->open_connections);
    move(METRIC_CONNECTIONS, METRIC_SIDE_UPSTREAM, client->open_connections,
         &told_client->open_connections);
}
