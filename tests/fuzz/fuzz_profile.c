/* SPDX-License-Identifier: Apache-2.0 */
/* The reader of profiles on any bytes: it says what is wrong, or yields a profile that, written and
 * read again, is the same. */
#include "simulator/model/profile_read.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void expect(bool is_true)
{
    if (!is_true) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct sim_profile profile;
    struct err err = {0};
    enum status st = sim_profile_read((struct str){(const char *)data, len}, &profile, &err);
    expect((st == ST_OK) == (err.status == ST_OK));
    if (st != ST_OK) {
        expect(st == err.status && err.text[0] != '\0');
        return 0;
    }
    struct sim_profile again;
    struct buf text;
    buf_init(&text, mem_heap(), SIM_PROFILE_TEXT_MAX);
    expect(sim_profile_write(&profile, &text) == ST_OK);
    expect(sim_profile_read(buf_str(&text), &again, &err) == ST_OK);
    expect(!(profile.a_s < again.a_s) && !(profile.a_s > again.a_s));
    expect(!(profile.h_s_per_token < again.h_s_per_token) &&
           !(profile.h_s_per_token > again.h_s_per_token));
    expect(strcmp(profile.name, again.name) == 0 && strcmp(profile.text, again.text) == 0);
    expect(profile.kv_tokens == again.kv_tokens && profile.max_running == again.max_running);
    buf_fini(&text);
    return 0;
}
