/* SPDX-License-Identifier: Apache-2.0 */
#include "common/rt/clock.h"

#include <stdio.h>
#include <time.h>

static uint64_t clock_read(clockid_t id)
{
    struct timespec ts;
    /* Cannot fail for these two clocks and a valid pointer. */
    (void)clock_gettime(id, &ts);
    return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

uint64_t clock_now_us(void)
{
    uint64_t now_us = clock_read(CLOCK_MONOTONIC);
    return now_us == 0 ? 1 : now_us;
}

uint64_t clock_wall_us(void)
{
    return clock_read(CLOCK_REALTIME);
}

/* Own calendar: gmtime_r takes the C library's time zone lock and may read files.
 * Days are counted from 1 March of year 0, so that the leap day is a year's last; 146097 days are
 * 400 years. */
unsigned clock_stamp(uint64_t wall_us, char ret[CLOCK_STAMP_BYTES])
{
    uint64_t ms = wall_us / 1000;
    uint64_t sec = ms / 1000;
    uint64_t days = sec / 86400 + 719468;
    uint64_t era = days / 146097;
    uint64_t day_of_era = days % 146097;
    uint64_t year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36524 - day_of_era / 146096) / 365;
    uint64_t day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    uint64_t month_from_march = (5 * day_of_year + 2) / 153;
    uint64_t day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    uint64_t month = month_from_march < 10 ? month_from_march + 3 : month_from_march - 9;
    uint64_t year = era * 400 + year_of_era + (month <= 2 ? 1 : 0);
    uint64_t sec_of_day = sec % 86400;
    int len = snprintf(ret, CLOCK_STAMP_BYTES, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ",
                       (unsigned)(year % 10000), (unsigned)(month % 100), (unsigned)(day % 100),
                       (unsigned)(sec_of_day / 3600 % 100), (unsigned)(sec_of_day / 60 % 60),
                       (unsigned)(sec_of_day % 60), (unsigned)(ms % 1000));
    return len < 0 ? 0 : (unsigned)len;
}
