/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WRONG_H
#define WRONG_H
#endif
