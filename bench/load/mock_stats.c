/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/load/mock.h"

#include <inttypes.h>
#include <stdio.h>

size_t mock_stats_write(const struct mock *mock, char *ret_text, size_t cap)
{
    size_t at =
        (size_t)snprintf(ret_text, cap, "{\"late_max_us\":%" PRIu64 ",\"left\":%zu,\"replicas\":[",
                         mock->late_max_ns / 1000U, mock->left_len);

    for (uint32_t i = 0; i < mock->replica_count && cap - at > 400; i++) {
        const struct mock_stats *stats = &mock->stats[i];

        at += (size_t)snprintf(ret_text + at, cap - at,
                               "%s{\"requests\":%" PRIu64 ",\"body_bytes\":%" PRIu64
                               ",\"finished\":%" PRIu64 ",\"left\":%" PRIu64 ",\"events\":%" PRIu64
                               ",\"open\":%u,\"open_max\":%u,\"connections\":%u}",
                               i == 0 ? "" : ",", stats->requests, stats->body_bytes,
                               stats->finished, stats->left, stats->events, stats->open_count,
                               stats->open_max, stats->conn_count);
    }
    return at + (size_t)snprintf(ret_text + at, cap - at, "]}");
}

size_t mock_left_write(const struct mock *mock, char *ret_text, size_t cap)
{
    size_t at = 0;

    for (size_t i = 0; i < mock->left_len && cap - at > 100; i++) {
        const struct mock_left *left = &mock->left[i];

        at += (size_t)snprintf(ret_text + at, cap - at, "%" PRIu64 " %" PRIu64 " %u %u\n", left->id,
                               left->at_ns, left->sent, left->replica);
    }
    return at;
}

void mock_stats_reset(struct mock *mock)
{
    for (uint32_t i = 0; i < mock->replica_count; i++) {
        mock->stats[i] = (struct mock_stats){.open_count = mock->stats[i].open_count,
                                             .conn_count = mock->stats[i].conn_count};
    }
    mock->left_len = 0;
    mock->late_max_ns = 0;
}
