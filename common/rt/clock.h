/* SPDX-License-Identifier: Apache-2.0 */
/* The only clock. Pure code gets the time as an argument from here.
 * THREAD: any. */
#ifndef COMMON_RT_CLOCK_H
#define COMMON_RT_CLOCK_H

#include <stdint.h>

/* Monotonic, since some fixed moment of this boot. Never 0. */
uint64_t clock_now_us(void);

/* Wall clock, since 1970-01-01 UTC. May jump; only for stamps that people read. */
uint64_t clock_wall_us(void);

enum { CLOCK_STAMP_BYTES = 32 };

/* Writes "2031-05-04T12:00:00.123Z", NUL-terminated; returns its length. Years 1970..9999. */
unsigned clock_stamp(uint64_t wall_us, char ret[CLOCK_STAMP_BYTES]);

#endif
