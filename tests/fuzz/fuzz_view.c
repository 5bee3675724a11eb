/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs of several lanes from bytes: each operation is a byte with its kind and lane, and takes
 * its numbers and names from the bytes behind it. Whatever comes: kept steps and sums are as many
 * as were opened, and what the three writers say is JSON, UTF-8 and well-formed XML. */
#include "aeg/view.h"

#include "common/base/json.h"
#include "tests/unit/aeg/xml_look.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

enum { LANES = 4, OUT_BYTES = 8 << 20, POOL_BLOCKS = 24 };

struct input {
    const uint8_t *p;
    size_t len;
};

static struct aeg_graph_pool pool;
static struct aeg_graph graphs[LANES];
static struct aeg_view view;

static void must(bool is_so)
{
    if (!is_so) {
        abort();
    }
}

static uint32_t take(struct input *in)
{
    if (in->len == 0) {
        return 0;
    }
    in->len--;
    return *in->p++;
}

/* Up to 255 bytes, mostly small; now and then hours. */
static uint64_t take_us(struct input *in)
{
    uint64_t value = take(in);
    return value < 200 ? value * 10000 : (value - 199) * 1000000000;
}

static struct str take_name(struct input *in)
{
    size_t want = take(in) % 100;
    struct str name = {(const char *)in->p, want < in->len ? want : in->len};
    in->p += name.len;
    in->len -= name.len;
    return name;
}

static void close_step(struct input *in, struct aeg_graph *graph, uint32_t number, uint64_t now_us)
{
    struct aeg_step_end end = {
        .end = (enum aeg_end)(take(in) % 8),
        .engine = {take(in) % 3},
        .prompt_tokens = take(in) * 5000,
        .cached_tokens = take(in) * 4000,
        .output_tokens = take(in),
        .ended_at_us = now_us,
    };
    end.started_at_us = now_us - take_us(in) % (now_us + 1);
    end.answered_at_us = now_us - take_us(in) % (now_us + 1);
    aeg_graph_close(&pool, graph, number, &end);
}

static void act(struct input *in, uint64_t *now_us)
{
    uint32_t kind = take(in);
    struct aeg_lane *lane = &view.lanes[kind % LANES];
    struct aeg_graph *graph = &graphs[kind % LANES];
    uint32_t number = graph->steps - take(in) % 100;
    struct str tools[6];
    *now_us += take_us(in);
    switch (kind / LANES % 6) {
    case 0:
    case 1:
        (void)aeg_graph_open(&pool, graph, number, kind > 200, *now_us);
        break;
    case 2:
        aeg_graph_reopen(&pool, graph, number, *now_us);
        break;
    case 3:
        close_step(in, graph, number, *now_us);
        break;
    case 4:
        for (uint32_t i = 0; i < 6; i++) {
            tools[i] = take_name(in);
        }
        aeg_graph_tools(&pool, graph, number, tools, kind % 7);
        break;
    default:
        lane->label = take_name(in);
        lane->agent = take_name(in);
        lane->model = take_name(in);
        lane->parent = take(in) % (LANES + 2);
        lane->is_busy = take(in) % 2 == 0;
        lane->is_gap_open = take(in) % 2 == 0;
        break;
    }
    must(graph->kept <= AEG_GRAPH_KEPT && graph->kept + graph->folded.steps == graph->steps);
}

static struct buf new_buf(void)
{
    struct buf out;
    buf_init(&out, mem_heap(), OUT_BYTES);
    return out;
}

static void check_json(uint32_t lane)
{
    struct buf out = new_buf();
    must(buf_add_str(&out, STR("{")) == ST_OK);
    must(aeg_view_json(&view, lane, &out) == ST_OK);
    must(buf_add_str(&out, STR("}")) == ST_OK);
    yyjson_doc *doc = yyjson_read(out.p, out.len, 0);
    must(doc != NULL);
    yyjson_val *steps = yyjson_obj_get(yyjson_doc_get_root(doc), "steps");
    must(yyjson_arr_size(steps) == graphs[lane].kept);
    yyjson_doc_free(doc);
    buf_fini(&out);
}

static void check_pictures(void)
{
    struct buf dot = new_buf();
    struct buf svg = new_buf();
    must(aeg_view_dot(&view, &dot) == ST_OK);
    must(str_is_utf8(buf_str(&dot), NULL));
    must(aeg_view_svg(&view, &svg) == ST_OK);
    must(xml_is_well_formed(buf_str(&svg)));
    buf_fini(&dot);
    buf_fini(&svg);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const struct aeg_engine_name engines[] = {{{1}, {"<e&\"", 4}}};
    struct input in = {data, len};
    uint64_t now_us = 1000000;
    aeg_graph_pool_init(&pool, mem_heap(), POOL_BLOCKS);
    view = (struct aeg_view){
        .pool = &pool, .lane_count = LANES, .engines = engines, .engine_count = 1};
    for (uint32_t i = 0; i < LANES; i++) {
        aeg_graph_init(&graphs[i], now_us);
        view.lanes[i] = (struct aeg_lane){.parent = AEG_STEP_NONE, .graph = &graphs[i]};
    }
    while (in.len > 0) {
        act(&in, &now_us);
    }
    view.now_us = now_us;
    view.hidden_lanes = take(&in);
    aeg_view_link(&view);
    for (uint32_t i = 0; i < LANES; i++) {
        check_json(i);
    }
    check_pictures();
    for (uint32_t i = 0; i < LANES; i++) {
        aeg_graph_fini(&pool, &graphs[i]);
    }
    must(pool.blocks.used_nodes == 0);
    aeg_graph_pool_fini(&pool);
    return 0;
}
