/* SPDX-License-Identifier: Apache-2.0 */
/* Is a text well-formed XML, of the plain kind that a drawing needs: one root, elements that nest,
 * quoted attributes, the five entities and numbers, no controls. */
#ifndef TESTS_UNIT_AEG_XML_LOOK_H
#define TESTS_UNIT_AEG_XML_LOOK_H

#include "common/base/str.h"

bool xml_is_well_formed(struct str text);

#endif
