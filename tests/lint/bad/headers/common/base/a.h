/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_BASE_A_H
#define COMMON_BASE_A_H
size_t a_count(void);
#endif
