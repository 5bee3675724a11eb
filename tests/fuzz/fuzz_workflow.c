/* SPDX-License-Identifier: Apache-2.0 */
/* A declared workflow from any bytes: refused with words, or one that can be kept, recorded, shown
 * in a form that reads the same, and walked in any order with forecasts that stay in range. */
#include "aeg/run.h"
#include "common/base/hash.h"
#include "coordinator/core/core.h"
#include "coordinator/core/record.h"
#include "coordinator/io/workflow_read.h"

#include <stdio.h>
#include <stdlib.h>

enum { TEXT_MAX = 4 << 20, WALK = 40 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void must(bool is_so)
{
    if (!is_so) {
        abort();
    }
}

static void expect_sane(const struct aeg_forecast *f)
{
    const double ratios[] = {f->survival_ratio, f->return_ratio, f->return_confidence,
                             f->reuse_ratio, f->work_confidence};
    const double sizes[] = {f->work_s, f->steps_to_go.mean, f->out_tokens.mean, f->new_tokens.mean,
                            f->hazard_per_s};
    for (size_t i = 0; i < sizeof(ratios) / sizeof(ratios[0]); i++) {
        must(ratios[i] >= 0.0 && ratios[i] <= 1.0 && sizes[i] >= 0.0 && sizes[i] < 1e15);
    }
    float before = 1.0f;
    for (uint32_t i = 0; i < DIST_BINS; i++) {
        must(f->wait.after[i] >= 0.0f && f->wait.after[i] <= before);
        before = f->wait.after[i];
    }
}

/* Steps of nodes in an order that the bytes decide. */
static void walk(const struct aeg_spec *spec, uint64_t seed)
{
    struct aeg_run run;
    struct aeg_session session = {.context_tokens = 1000};
    aeg_run_start(&run, spec);
    for (uint64_t i = 0; i < WALK; i++) {
        uint64_t how = hash_mix(seed, i);
        struct aeg_forecast f = {.survival_ratio = 1.0, .return_ratio = 1.0, .work_s = 1.0};
        uint32_t node = (uint32_t)(how % (spec->node_count + 1));
        struct str name = node < spec->node_count ? spec->nodes[node].name : STR("?");
        aeg_run_returned(&run, how >> (how % 60));
        must(aeg_run_arrived(&run, name, (uint32_t)(how >> 50)) || node == spec->node_count ||
             str_eq(name, STR("?")));
        aeg_run_answered(&run, (uint32_t)(how >> 52), how >> (how % 50));
        session.is_gap_open = how % 2 == 0;
        aeg_run_apply(&run, &session, &f);
        expect_sane(&f);
    }
}

static void expect_recorded(const struct coord_event *ev)
{
    struct buf line;
    struct buf again;
    struct arena arena;
    struct coord_event read;
    uint64_t at_us = 0;
    buf_init(&line, mem_heap(), TEXT_MAX);
    buf_init(&again, mem_heap(), TEXT_MAX);
    arena_init(&arena, mem_heap(), 1 << 16, TEXT_MAX);
    must(coord_record_event(ev, 7, &line) == ST_OK);
    must(coord_record_read(buf_str(&line), &arena, &read, &at_us) == ST_OK && at_us == 7);
    must(coord_record_event(&read, 7, &again) == ST_OK);
    must(str_eq(buf_str(&line), buf_str(&again)));
    arena_fini(&arena);
    buf_fini(&again);
    buf_fini(&line);
}

/* What the admin port shows of it, as text; the declaration starts at the returned place. */
static struct str show(const struct coord_workflow_declared *declared, struct buf *out)
{
    const struct coord_limits limits = {.max_sessions = 1,
                                        .max_requests = 1,
                                        .max_engines = 1,
                                        .max_workflows = 2,
                                        .max_workflow_bytes = 1 << 20};
    struct coord_core *core = NULL;
    const struct coord_effects *effects = NULL;
    struct coord_event ev = {.kind = COORD_EV_WORKFLOW_DECLARED};
    ev.u.workflow = *declared;
    expect_recorded(&ev);
    must(coord_core_new(&core, mem_heap(), &limits, 1) == ST_OK);
    must(coord_core_step(core, &ev, 1, &effects) == ST_OK);
    must(coord_core_write_workflow(core, STR(""), declared->id, out) == ST_OK);
    coord_core_free(core);
    static const char mark[] = ",\"workflow\":";
    must(buf_add(out, "", 1) == ST_OK);
    const char *at = strstr(out->p, mark);
    must(at != NULL);
    at += sizeof(mark) - 1;
    return (struct str){at, out->len - (size_t)(at - out->p) - 2};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct err err = {.status = ST_OK};
    struct workflow_doc *doc = NULL;
    struct str text = {(const char *)data, len};
    enum status st = workflow_read(&doc, mem_heap(), text, &err);
    if (st != ST_OK) {
        must((st == ST_INVAL || st == ST_TOOBIG) && err.text[0] != '\0');
        must(str_is_utf8(str_of(err.text), NULL));
        return 0;
    }
    struct buf shown;
    struct buf again;
    struct aeg_spec *spec = NULL;
    struct workflow_doc *reread = NULL;
    buf_init(&shown, mem_heap(), TEXT_MAX);
    buf_init(&again, mem_heap(), TEXT_MAX);
    struct str first = show(workflow_doc_declared(doc), &shown);
    must(workflow_read(&reread, mem_heap(), first, &err) == ST_OK);
    must(str_eq(show(workflow_doc_declared(reread), &again), first));
    must(aeg_spec_new(&spec, mem_heap(), &workflow_doc_declared(doc)->spec, NULL) == ST_OK);
    walk(spec, hash_bytes(data, len, 0));
    aeg_spec_free(mem_heap(), spec);
    workflow_doc_free(reread);
    workflow_doc_free(doc);
    buf_fini(&again);
    buf_fini(&shown);
    return 0;
}
