/* SPDX-License-Identifier: Apache-2.0 */
int pong(int n);
int ping(int n);
int ping(int n)
{
    return n > 0 ? pong(n - 1) : 0;
}
