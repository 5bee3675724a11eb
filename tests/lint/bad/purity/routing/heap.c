/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

void *route_buf(void);
void *route_buf(void)
{
    return malloc(8);
}
