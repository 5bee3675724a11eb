/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/a.h"
