/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/replay/text.h"

#include "common/base/rng.h"

#include <string.h>

enum { WORD_LETTERS = 3, WORDS_PER_DRAW = 8 };

/* 256 words, so that one random byte picks one. */
static const char words[] =
    "theandforarebutnotyouallanycanhadherwasoneouroutdaygethashimhishowmannewnowold"
    "seetwowaywhoboydiditsletputsayshetoouseaceactaddageagoaidaimairaleantapeaptarc"
    "armartashaskateaweaxebadbagbanbarbatbaybedbeebegbetbidbigbinbitbowboxbudbugbun"
    "busbuycabcapcarcatcodcogcopcotcowcrycubcuecupcutdamdendewdigdimdipdogdotdrydue"
    "dugdyeeareatebbeeleggelfelkelmenderaeveeyefanfarfatfaxfedfeefewfigfinfirfitfix"
    "flyfogfoxfryfunfurgapgasgemgiggingumgutgymhamhathayhenhexhidhiphithobhophothub"
    "huehughumhuticeillinkinnionivyjamjarjawjetjobjogjoyjugkeykidkinkitlabladlaglap"
    "lawlayledleglidlieliplitloglotlowmadmapmatmaymenmetmidmixmobmopmudmugnetnodnor"
    "nutoakoaroatoddoffoiloptorboreownpadpanpatpawpaypeapegpenpetpiepigpinpitpodpop"
    "potpubpupramranratrawrayredribridrimriprobrodrotrowrubrugrumrunrye";

_Static_assert(sizeof(words) - 1 == (size_t)256 * WORD_LETTERS, "one word for each byte value");

void text_fill(char *dst, size_t len, uint64_t seed)
{
    struct rng rng;
    rng_init(&rng, seed);
    size_t at = 0;
    while (at < len) {
        uint64_t bits = rng_u64(&rng);
        for (int i = 0; i < WORDS_PER_DRAW && at < len; i++) {
            char token[TEXT_TOKEN_BYTES] = {' '};
            memcpy(token + 1, words + (size_t)(bits & 0xFF) * WORD_LETTERS, WORD_LETTERS);
            size_t n = len - at < sizeof(token) ? len - at : sizeof(token);
            memcpy(dst + at, token, n);
            at += n;
            bits >>= 8;
        }
    }
}
