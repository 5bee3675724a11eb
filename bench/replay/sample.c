/* SPDX-License-Identifier: Apache-2.0 */
/* The assembler reads the file (SAMPLE_FILE comes from CMake): no generated source of a megabyte.
 */
#include "bench/replay/sample.h"

__asm__(".section .rodata\n"
        ".balign 16\n"
        "bench_sample_begin:\n"
        ".incbin \"" SAMPLE_FILE "\"\n"
        "bench_sample_end:\n"
        ".byte 0\n"
        ".previous\n");

extern const char bench_sample_begin[] __attribute__((visibility("hidden")));
extern const char bench_sample_end[] __attribute__((visibility("hidden")));

struct str sample_data(void)
{
    return (struct str){bench_sample_begin, (size_t)(bench_sample_end - bench_sample_begin)};
}
