/* SPDX-License-Identifier: Apache-2.0 */
int b(int n);
