/* SPDX-License-Identifier: Apache-2.0 */
#include "aeg/graph.h"
#include "proto/codec.h"
