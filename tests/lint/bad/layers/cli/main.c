/* SPDX-License-Identifier: Apache-2.0 */
/* #include "tests/kit/kit.h" is only a comment */
#include "tests/kit/kit.h"
