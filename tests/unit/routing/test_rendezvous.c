/* SPDX-License-Identifier: Apache-2.0 */
#include "routing/rendezvous.h"

#include "common/base/hash.h"
#include "tests/kit/kit.h"

#include <math.h>
#include <stdio.h>

enum { RANKS = 40, PER_RANK = 512, SESSIONS = RANKS * PER_RANK, WORKERS_MAX = 11 };

static uint64_t engine_key(uint32_t i)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "engine-%u", i);
    return hash_str(str_of(name), 0);
}

/* Keys as clients make them: numbers, mail addresses, ids like 8-4-4-4-12. */
static uint64_t session_key(uint32_t i, uint32_t style)
{
    char id[64];
    switch (style) {
    case 0:
        return i; /* not even hashed */
    case 1:
        (void)snprintf(id, sizeof(id), "user%u@example.org", i);
        break;
    default:
        (void)snprintf(id, sizeof(id), "%08x-0000-4000-8000-%012x", i * 2654435761u, i);
        break;
    }
    return hash_str(str_of(id), 0);
}

/* Which of engines 0..count-1 except `without` a key goes to. */
static uint32_t best(uint64_t key, uint32_t count, uint32_t without)
{
    uint32_t found = UINT32_MAX;
    uint64_t most = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t weight = route_rendezvous_weight(key, engine_key(i));
        if (i != without && (found == UINT32_MAX || weight > most)) {
            found = i;
            most = weight;
        }
    }
    return found;
}

static void b085_spread__512_sessions_per_rank__even(void **state)
{
    (void)state;
    static uint32_t counts[RANKS];
    uint64_t keys[RANKS];
    for (uint32_t i = 0; i < RANKS; i++) {
        keys[i] = engine_key(i);
    }
    for (uint32_t style = 0; style < 3; style++) {
        double square = 0.0;
        uint32_t max = 0;
        memset(counts, 0, sizeof(counts));
        for (uint32_t s = 0; s < SESSIONS; s++) {
            uint64_t key = session_key(s, style);
            uint32_t to = 0;
            for (uint32_t i = 1; i < RANKS; i++) {
                to = route_rendezvous_weight(key, keys[i]) > route_rendezvous_weight(key, keys[to])
                         ? i
                         : to;
            }
            counts[to]++;
        }
        for (uint32_t i = 0; i < RANKS; i++) {
            double off = (double)counts[i] - PER_RANK;
            square += off * off;
            max = counts[i] > max ? counts[i] : max;
        }
        double cv = sqrt(square / RANKS) / PER_RANK;
        print_message("style %u: cv %.4f, max/mean %.3f\n", style, cv, (double)max / PER_RANK);
        assert_true(cv <= 0.06);
        assert_true((double)max / PER_RANK <= 1.15);
    }
}

static void b084_removed_engine__only_its_sessions_move__and_return(void **state)
{
    (void)state;
    enum { COUNT = 10, LOST = 3, KEYS = 1000 };
    uint32_t lost = 0;
    for (uint32_t s = 0; s < KEYS; s++) {
        uint64_t key = session_key(s, 2);
        uint32_t before = best(key, COUNT, UINT32_MAX);
        uint32_t without = best(key, COUNT, LOST);
        lost += before == LOST ? 1 : 0;
        assert_true(before == LOST ? without != LOST : without == before);
        assert_int_equal(best(key, COUNT, UINT32_MAX), before);
    }
    assert_in_range(lost, 70, 130);
}

static void b084_added_engine__takes_its_share__from_all(void **state)
{
    (void)state;
    uint32_t moved = 0;
    for (uint32_t s = 0; s < 1000; s++) {
        uint64_t key = session_key(s, 1);
        uint32_t before = best(key, WORKERS_MAX - 1, UINT32_MAX);
        uint32_t after = best(key, WORKERS_MAX, UINT32_MAX);
        assert_true(after == before || after == WORKERS_MAX - 1);
        moved += after != before ? 1 : 0;
    }
    assert_in_range(moved, 60, 125);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(b085_spread__512_sessions_per_rank__even),
        cmocka_unit_test(b084_removed_engine__only_its_sessions_move__and_return),
        cmocka_unit_test(b084_added_engine__takes_its_share__from_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
