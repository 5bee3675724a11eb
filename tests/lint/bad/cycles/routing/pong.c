/* SPDX-License-Identifier: Apache-2.0 */
int pong(int n);
int ping(int n);
int pong(int n)
{
    return n > 0 ? ping(n - 1) : 0;
}
