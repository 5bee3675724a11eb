/* SPDX-License-Identifier: Apache-2.0 */
#include "view.h"
#include "common/rt/up.c"
