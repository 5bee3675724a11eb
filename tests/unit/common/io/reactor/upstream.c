/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/common/io/reactor/upstream.h"

void upstream_open(struct upstream *up, const struct http_client_limits *limits)
{
    memset(up, 0, sizeof(*up));
    up->peer.fd = -1;
    up->loop = rig_loop();
    up->client = rig_client(up->loop, limits);
    up->fd = rig_listen(&up->addr, 16);
    up->ep = rig_endpoint(up->client, &up->addr);
}

void upstream_close(struct upstream *up)
{
    rig_call_done(&up->call);
    http_client_free(up->client);
    loop_free(up->loop);
    peer_close(&up->peer);
    close(up->fd);
}

void upstream_take(struct upstream *up, struct peer *ret)
{
    UNTIL(up->loop, peer_accept(ret, up->fd));
    UNTIL(up->loop, peer_has(ret, "\r\n\r\n"));
}

void upstream_get(struct upstream *up)
{
    rig_call_get(&up->call, up->loop, up->ep);
    upstream_take(up, &up->peer);
}

void upstream_again(struct upstream *up)
{
    rig_call_done(&up->call);
    up->call = (struct rig_call){0};
}

void upstream_pool_one(struct upstream *up)
{
    upstream_get(up);
    peer_send(&up->peer, ANSWER_OK);
    UNTIL(up->loop, rig_call_is_over(&up->call));
    assert_int_equal(up->call.last_count, 1);
    assert_int_equal(http_client_counters(up->client)->open_connections, 1);
    upstream_again(up);
}
