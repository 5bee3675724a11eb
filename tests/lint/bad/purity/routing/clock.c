/* SPDX-License-Identifier: Apache-2.0 */
#include <time.h>

long long route_now(void);
long long route_now(void)
{
    return (long long)time(0);
}
