/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_BASE_GNU_H
#define COMMON_BASE_GNU_H
extern typeof(int) gnu_only;
#endif
