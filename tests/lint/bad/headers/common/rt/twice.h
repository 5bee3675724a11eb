/* SPDX-License-Identifier: Apache-2.0 */
struct twice {
    int x;
};
