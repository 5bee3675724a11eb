/* SPDX-License-Identifier: Apache-2.0 */
#include "coordinator/core/core.h"
#include <llhttp.h>
