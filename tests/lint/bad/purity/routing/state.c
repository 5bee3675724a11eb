/* SPDX-License-Identifier: Apache-2.0 */
int route_next(void);
int route_next(void)
{
    static int next = 7;
    static int count;

    return next++ + count++;
}
