/* Sentences: cells to attributes, attributes to scores, scores to the best label sequences.

       U[i, h]    = bias[h] + sum over attributes of w[attribute, h]  (+ start, end)
       D[i, h]    = U[i, h] + max over g of D[i-1, g] + edge[g, h]                          orders 0 and 1
       D[i, g, h] = U[i, h] + edge[g, h] + max over f of D[i-1, f, g] + triple[f, g, h]     order 2

   Sums are in the precision and in the order of the kernels (kernels/chain), so that scores and ties are the same. */

#include <stdlib.h>
#include <string.h>

#include "inside.h"

#define LOW (-__builtin_inff())
#define RESCALE 64
#define MOST_TABLE (UINT64_C(1) << 33)

/* Arrays that grow: bytes of room in front of them. */
typedef struct {
    void *data;
    size_t room;
} growing;

typedef struct {
    size_t text, length;
    float value;
} cell;

struct palmette_sentence {
    const palmette_model *m;
    growing text, cells, begin; /* begin: the first cell of each token */
    size_t n_text, n_cells;
    int n, tagged;
    growing words, hashes, places, attributes, kinds, values, ends; /* ends: of the attributes of each token */
    growing U, D, sums, paths, scores, losses, leaves, spelled;
    int found;
    char message[240];
};

static void *sized(growing *own, size_t count, size_t size) {
    if (size && count > (size_t)PTRDIFF_MAX / 2 / size) return NULL;
    size_t wanted = count * size;
    if (own->data && own->room >= wanted) return own->data;
    size_t room = wanted < 256 ? 256 : wanted + wanted / 2;
    void *made = realloc(own->data, room);
    if (!made) return NULL;
    own->data = made, own->room = room;
    return made;
}

static note message(palmette_sentence *s) {
    note made = {s->message, sizeof s->message, 0};
    note_text(&made, "");
    return made;
}

static int fault(palmette_sentence *s, int code, const char *what) {
    note to = message(s);
    if (code == PALMETTE_INPUT) note_text(&to, "token "), note_number(&to, s->n), note_text(&to, ": ");
    note_text(&to, what);
    return code;
}

static int no_memory(palmette_sentence *s) { return fault(s, PALMETTE_MEMORY, "memory ran out"); }

palmette_sentence *palmette_sentence_new(const palmette_model *model) {
    palmette_sentence *made = calloc(1, sizeof *made);
    if (made) made->m = model;
    return made;
}

void palmette_sentence_free(palmette_sentence *s) {
    if (!s) return;
    growing *all[] = {&s->text,  &s->cells, &s->begin, &s->words,  &s->hashes, &s->places, &s->attributes,
                      &s->kinds, &s->values, &s->ends, &s->U,      &s->D,      &s->sums,   &s->paths,
                      &s->scores, &s->losses, &s->leaves, &s->spelled};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) free(all[k]->data);
    free(s);
}

void palmette_clear(palmette_sentence *s) { s->n_text = s->n_cells = 0, s->n = s->found = s->tagged = 0, s->message[0] = 0; }

int palmette_token(palmette_sentence *s) {
    if (s->n == INT32_MAX / 64) return fault(s, PALMETTE_INPUT, "too many tokens");
    size_t *begin = sized(&s->begin, (size_t)s->n + 2, sizeof *begin);
    if (!begin) return no_memory(s);
    begin[s->n++] = s->n_cells, begin[s->n] = s->n_cells;
    s->found = s->tagged = 0;
    return PALMETTE_OK;
}

int palmette_cell(palmette_sentence *s, const char *text, size_t length, float value) {
    if (!s->n) return fault(s, PALMETTE_INPUT, "a cell before the first token");
    if (length > (size_t)1 << 30) return fault(s, PALMETTE_INPUT, "a cell of more than a gigabyte");
    cell *cells = sized(&s->cells, s->n_cells + 1, sizeof *cells);
    uint32_t *word = sized(&s->words, 4 * length + 64, sizeof *word);
    char *into = cells && word ? sized(&s->text, s->n_text + length, 1) : NULL;
    if (!into) return no_memory(s);
    if (utf8_read(text, length, word) < 0) return fault(s, PALMETTE_INPUT, "a cell is not UTF-8");
    if (!(value - value == 0)) return fault(s, PALMETTE_INPUT, "a value is not finite");
    memcpy(into + s->n_text, text, length);
    cells[s->n_cells] = (cell){s->n_text, length, value};
    s->n_text += length;
    ((size_t *)s->begin.data)[s->n] = ++s->n_cells;
    s->found = s->tagged = 0;
    return PALMETTE_OK;
}

const char *palmette_message(const palmette_sentence *s) { return s->message; }
int palmette_tokens(const palmette_sentence *s) { return s->n; }
int palmette_found(const palmette_sentence *s) { return s->found; }

/* --- attributes --- */

static int64_t look_up(const palmette_model *m, uint64_t key) {
    if (m->bucket) {
        uint64_t bucket = key >> (64 - m->bits);
        uint32_t wanted = (uint32_t)(key >> (32 - m->bits));
        for (uint32_t a = m->bucket[bucket]; a < m->bucket[bucket + 1]; a++)
            if (m->low[a] == wanted) return a;
        return -1;
    }
    for (uint64_t mask = m->places - 1, k = key & mask; m->places && m->keys[k]; k = (k + 1) & mask)
        if (m->keys[k] == key) return m->numbers[k];
    return -1;
}

/* A word seen through an atom, as UTF-8; the length, -1: absent, -2: not UTF-8, or memory ran out. */
static ptrdiff_t seen_as(
    growing *words, growing *sets, const char *text, size_t length, int nfc, const view *by, char **out) {
    size_t room = 8 * length + 64, used = 0;
    uint32_t *word = sized(words, 6 * room, sizeof *word), *work = word ? word + room : NULL;
    uint8_t *places = sized(sets, PLACES, 2 * length + 40);
    ptrdiff_t read = word && places ? utf8_read(text, length, word) : -1;
    if (read < 0) return -2;
    size_t n = (size_t)read;
    if (nfc) n = normalised(word, n, work);
    else memcpy(work, word, n * sizeof *word);
    if (!atom_run(by->step, by->steps, work, &n, places)) return -1;
    *out = (char *)(work + room);
    for (size_t i = 0; i < n; i++) used += utf8_write(work[i], *out + used);
    return (ptrdiff_t)used;
}

static ptrdiff_t seen(palmette_sentence *s, const cell *own, const view *by, char **out) {
    const char *text = (const char *)s->text.data + own->text;
    return seen_as(&s->words, &s->places, text, own->length, s->m->nfc, by, out);
}

ptrdiff_t palmette_atom(const char *atom, const char *text, size_t length, char *out, size_t size) {
    view by = {0, 0, {{0, 0}}};
    growing words = {NULL, 0}, places = {NULL, 0};
    char *found = NULL;
    size_t known = strlen(atom);
    by.steps = known ? atom_read(atom, known, by.step, (int)(sizeof by.step / sizeof *by.step)) : 0;
    ptrdiff_t made = by.steps < 0 ? -2 : seen_as(&words, &places, text, length, 0, &by, &found);
    if (made > 0) memcpy(out, found, (size_t)made < size ? (size_t)made : size);
    free(words.data), free(places.data);
    return made;
}

static size_t outside(int distance, char *out) { /* _B-1, _B+2 */
    note to = {out, 16, 0};
    note_text(&to, distance > 0 ? "_B+" : "_B");
    note_number(&to, distance);
    return to.used;
}

typedef struct {
    uint64_t hash, power; /* power 0: absent */
} hashed;

static int hash_cells(palmette_sentence *s, hashed *all) {
    const palmette_model *m = s->m;
    const size_t *begin = s->begin.data;
    const cell *cells = s->cells.data;
    for (int i = 0; i < s->n; i++) {
        size_t own = begin[i + 1] - begin[i];
        if (own < (size_t)m->columns || (m->most_columns && own > (size_t)m->most_columns)) {
            note to = message(s);
            note_text(&to, "token "), note_number(&to, i + 1), note_text(&to, " has ");
            note_number(&to, (int64_t)own), note_text(&to, " cells, the model reads ");
            note_number(&to, own < (size_t)m->columns ? m->columns : m->most_columns);
            return PALMETTE_INPUT;
        }
        for (int v = 0; v < m->n_views; v++) {
            char *text;
            ptrdiff_t length = seen(s, &cells[begin[i] + (size_t)m->views[v].column], &m->views[v], &text);
            if (length == -2) return no_memory(s);
            hashed *to = &all[(size_t)i * (size_t)m->n_views + (size_t)v];
            *to = (hashed){0, 0};
            if (length >= 0) *to = (hashed){hash_add(0, text, (size_t)length), power_add(1, (size_t)length)};
        }
    }
    return PALMETTE_OK;
}

/* The key of a template at token i; 0: it does not fire. */
static uint64_t key_at(const palmette_sentence *s, const hashed *all, const pattern *by, int i) {
    const palmette_model *m = s->m;
    uint64_t hash = 0;
    for (int k = by->first; k < by->last; k++) {
        const macro *own = &m->macros[k];
        int at = i + own->row;
        hashed piece;
        if (at >= 0 && at < s->n) piece = all[(size_t)at * (size_t)m->n_views + (size_t)own->view];
        else {
            char text[16];
            size_t length = outside(at < 0 ? at : at - s->n + 1, text);
            piece = (hashed){hash_add(0, text, length), power_add(1, length)};
        }
        if (!piece.power) return 0;
        hash = (hash * own->power + own->hash) * piece.power + piece.hash;
    }
    return mixed(hash * by->power + by->hash);
}

/* Write the attributes of all tokens. Kinds: of templates the number of the template, else that of the cell. */
static int find_attributes(palmette_sentence *s) {
    const palmette_model *m = s->m;
    size_t n = (size_t)s->n, most = m->columns ? n * (size_t)m->n_patterns : s->n_cells, z = 0;
    uint32_t *attributes = sized(&s->attributes, most + 1, sizeof *attributes);
    uint32_t *kinds = sized(&s->kinds, most + 1, sizeof *kinds);
    float *values = sized(&s->values, most + 1, sizeof *values);
    size_t *ends = sized(&s->ends, n, sizeof *ends), *begin = s->begin.data;
    hashed *all = sized(&s->hashes, n * (size_t)(m->n_views + 1), sizeof *all);
    if (!attributes || !kinds || !values || !ends || !all) return no_memory(s);
    int failed = m->columns ? hash_cells(s, all) : PALMETTE_OK;
    if (failed) return failed;
    for (size_t i = 0; i < n; i++) {
        size_t count = m->columns ? (size_t)m->n_patterns : begin[i + 1] - begin[i];
        for (size_t k = 0; k < count; k++) {
            const cell *own = m->columns ? NULL : (const cell *)s->cells.data + begin[i] + k;
            uint64_t key = own ? mixed(hash_add(0, (const char *)s->text.data + own->text, own->length))
                               : key_at(s, all, &m->patterns[k], (int)i);
            int64_t a = key ? look_up(m, key) : -1;
            if (a < 0) continue;
            attributes[z] = (uint32_t)a, kinds[z] = (uint32_t)k, values[z] = own ? own->value : 1.0f;
            z++;
        }
        ends[i] = z;
    }
    return PALMETTE_OK;
}

/* --- scores --- */

static uint64_t item(const uint8_t *data, int size, uint64_t k) {
    uint16_t two;
    uint32_t four;
    if (size == 1) return data[k];
    if (size == 2) return memcpy(&two, data + 2 * k, 2), two;
    return memcpy(&four, data + 4 * k, 4), four;
}

/* out[h] += factor * the weights of an attribute; `plain`: the factor is 1. */
static void add(const palmette_model *m, uint32_t a, float factor, int plain, float *out) {
    int H = m->H;
    if (m->scale) factor = plain ? m->scale[a] : factor * m->scale[a], plain = 0;
    if (m->form == W_LISTS || m->form == W_BYTE_LISTS) {
        uint64_t at = m->begin[a / STEP];
        for (uint32_t k = a / STEP * STEP; k < a; k++) at += item(m->count, m->count_size, k);
        uint64_t end = at + item(m->count, m->count_size, a);
        for (; at < end; at++) {
            float w = m->form == W_LISTS ? m->weights[at] : (float)m->bytes[at];
            out[item(m->state, m->state_size, at)] += plain ? w : factor * w;
        }
        return;
    }
    if (m->form == W_BYTES) {
        const int8_t *row = m->bytes + (size_t)a * (size_t)H;
        for (int h = 0; h < H; h++) out[h] += factor * (float)row[h];
        return;
    }
    const float *row =
        m->form == W_ROWS ? m->weights + (size_t)a * (size_t)H : m->weights + (size_t)m->slot[a] * (size_t)m->W;
    for (int h = 0; h < H; h++) out[h] += plain ? row[h] : factor * row[h];
}

/* A token's own scores. Rows are added by fours, (a + b) + (c + d), unless some value is not 1 or labels are many. */
static void score_token(palmette_sentence *s, size_t z, size_t end, int valued, float *u, float *sums) {
    const palmette_model *m = s->m;
    const uint32_t *attributes = s->attributes.data;
    const float *values = s->values.data;
    int H = m->H;
    memcpy(u, m->bias, (size_t)H * sizeof *u);
    if (valued || m->in_turn) {
        for (; z < end; z++) add(m, attributes[z], values[z], 0, u);
        return;
    }
    for (; z < end; z += 4) {
        memset(sums, 0, 2 * (size_t)H * sizeof *sums);
        for (size_t k = z; k < end && k < z + 4; k++) add(m, attributes[k], 1.0f, 1, sums + (k < z + 2 ? 0 : H));
        for (int h = 0; h < H; h++) u[h] += sums[h] + sums[H + h];
    }
}

static int score(palmette_sentence *s) {
    const palmette_model *m = s->m;
    size_t n = (size_t)s->n, H = (size_t)m->H, K = m->order == 2 ? H : 1;
    if ((uint64_t)H * K > MOST_TABLE / 4 / n) return fault(s, PALMETTE_INPUT, "the tables of the sentence would take more than 8 GB");
    float *U = sized(&s->U, n, H * sizeof *U), *sums = sized(&s->sums, 2 * H, sizeof *sums);
    float *D = sized(&s->D, n, H * K * sizeof *D);
    if (!U || !sums || !D) return no_memory(s);
    const size_t *ends = s->ends.data;
    const float *values = s->values.data;
    int valued = 0;
    for (size_t k = 0; k < ends[n - 1]; k++) valued |= values[k] != 1.0f;
    for (size_t i = 0; i < n; i++) score_token(s, i ? ends[i - 1] : 0, ends[i], valued, U + i * H, sums);
    for (size_t h = 0; h < H; h++) U[h] += m->first[h], U[(n - 1) * H + h] += m->last[h];
    return PALMETTE_OK;
}

/* --- search --- */

static size_t first_best(const float *row, size_t H) {
    size_t best = 0;
    for (size_t h = 1; h < H; h++)
        if (row[h] > row[best]) best = h;
    return best;
}

/* Subtract the best score and return it: sums of float32 lose small differences in a long sentence. */
static double taken_out(float *D, size_t size) {
    float top = D[first_best(D, size)];
    for (size_t k = 0; k < size; k++)
        if (D[k] > top) top = D[k];
    if (top == LOW) return 0.0;
    for (size_t k = 0; k < size; k++) D[k] -= top;
    return (double)top;
}

static double search_pairs(const palmette_model *m, const float *U, float *D, size_t n) {
    size_t H = (size_t)m->H;
    double total = 0.0;
    memcpy(D, U, H * sizeof *D);
    for (size_t i = 1; i < n; i++) {
        const float *before = D + (i - 1) * H, *u = U + i * H;
        float *now = D + i * H;
        for (size_t h = 0; h < H; h++) now[h] = before[0] + m->edge[h];
        for (size_t g = 1; g < H; g++) {
            const float *edge = m->edge + g * H;
            float start = before[g];
            if (start == LOW) continue;
            for (size_t h = 0; h < H; h++) {
                float value = start + edge[h];
                now[h] = value > now[h] ? value : now[h];
            }
        }
        for (size_t h = 0; h < H; h++) now[h] += u[h];
        if (i % RESCALE == 0) total += taken_out(now, H);
    }
    return total + (double)D[(n - 1) * H + first_best(D + (n - 1) * H, H)];
}

static double search_triples(const palmette_model *m, const float *U, float *D, size_t n) {
    size_t H = (size_t)m->H, W = (size_t)m->W;
    double total = 0.0;
    for (size_t g = 0; g < H; g++)
        for (size_t h = 0; h < H; h++) D[H * H + g * H + h] = U[g] + m->edge[g * H + h] + U[H + h];
    for (size_t i = 2; i < n; i++) {
        const float *before = D + (i - 1) * H * H, *u = U + i * H;
        float *now = D + i * H * H;
        for (size_t g = 0; g < H; g++)
            for (size_t h = 0; h < H; h++) {
                float top = before[g] + m->triple[g * W + h];
                for (size_t f = 1; f < H; f++) {
                    float value = before[f * H + g] + m->triple[(f * H + g) * W + h];
                    top = value > top ? value : top;
                }
                now[g * H + h] = top + (m->edge[g * H + h] + u[h]);
            }
        if (i % RESCALE == 0) total += taken_out(now, H * H);
    }
    float top = LOW;
    for (size_t k = 0; k < H * H; k++) top = D[(n - 1) * H * H + k] > top ? D[(n - 1) * H * H + k] : top;
    return total + (double)top;
}

static double search(const palmette_model *m, const float *U, float *D, size_t n) {
    size_t H = (size_t)m->H;
    double total = 0.0;
    if (m->order == 1) return search_pairs(m, U, D, n);
    if (m->order == 2 && n > 1) return search_triples(m, U, D, n);
    for (size_t i = 0; i < n; i++) total += (double)U[i * H + first_best(U + i * H, H)];
    return total;
}

/* --- the best sequences, as kernels/chain/kbest.py finds them ---

   A candidate is a set of paths: those that end like an earlier path, branch off from it at token j (backwards) to
   another label, and are the best before that. D tells what the best of them loses, without a search. */

typedef struct {
    const palmette_model *m;
    const float *U, *D;
    int *paths;
    double *loss;
    int64_t *leaves;
    float *choice;
    size_t n, H, K, taken, size;
} listing;

/* The scores of the labels of token j, given the labels after it. */
static void choices(const listing *l, size_t j, const int *path) {
    const palmette_model *m = l->m;
    size_t n = l->n, H = l->H, W = (size_t)m->W;
    float *out = l->choice;
    if (m->order == 0 || n == 1) {
        memcpy(out, l->U + j * H, H * sizeof *out);
    } else if (m->order == 1) {
        for (size_t h = 0; h < H; h++)
            out[h] = j == n - 1 ? l->D[j * H + h] : l->D[j * H + h] + m->edge[h * H + (size_t)path[j + 1]];
    } else if (j == n - 1) {
        for (size_t h = 0; h < H; h++) {
            out[h] = l->D[j * H * H + h];
            for (size_t g = 1; g < H; g++) {
                float value = l->D[(j * H + g) * H + h];
                out[h] = value > out[h] ? value : out[h];
            }
        }
    } else {
        size_t one = (size_t)path[j + 1], two = j + 2 < n ? (size_t)path[j + 2] : 0;
        for (size_t h = 0; h < H; h++) {
            out[h] = l->D[((j + 1) * H + h) * H + one];
            if (j + 2 < n) out[h] += m->triple[(h * H + one) * W + two];
        }
    }
}

static int label_at(const listing *l, int64_t what, size_t t) {
    size_t H = l->H, n = l->n, rest = (size_t)what / H;
    return rest % n == t ? (int)((size_t)what % H) : l->paths[rest / n * n + t];
}

/* Whether candidate a comes before b, which loses as much: by the smaller label at the last difference. */
static int comes_first(const listing *l, int64_t a, int64_t b) {
    size_t ta = (size_t)a / l->H % l->n, tb = (size_t)b / l->H % l->n, t = l->n - 1;
    if ((size_t)a / l->H / l->n == (size_t)b / l->H / l->n) t = ta > tb ? ta : tb;
    else
        while (t > 0 && label_at(l, a, t) == label_at(l, b, t)) t--;
    return label_at(l, a, t) < label_at(l, b, t);
}

static void insert(listing *l, double value, int64_t what) {
    size_t k = l->size;
    while (k > l->taken && (l->loss[k - 1] > value || (l->loss[k - 1] == value && comes_first(l, what, l->leaves[k - 1])))) {
        if (k < l->K) l->loss[k] = l->loss[k - 1], l->leaves[k] = l->leaves[k - 1];
        k--;
    }
    if (k < l->K) l->loss[k] = value, l->leaves[k] = what;
    if (l->size < l->K) l->size++;
}

static void list(listing *l) {
    size_t n = l->n, H = l->H;
    l->loss[0] = 0.0, l->leaves[0] = 0, l->size = 1;
    for (l->taken = 0; l->taken < l->size;) {
        size_t own = l->taken, first = n;
        int *path = l->paths + own * n;
        double base = l->loss[own];
        if (own) {
            int64_t what = l->leaves[own];
            first = (size_t)what / H % n;
            for (size_t t = first; t < n; t++) path[t] = label_at(l, what, t);
        }
        l->taken++;
        for (size_t j = first; j-- > 0;) {
            choices(l, j, path);
            size_t best = first_best(l->choice, H);
            path[j] = (int)best;
            for (size_t h = 0; h < H && l->taken < l->K; h++) {
                double value = base + ((double)l->choice[best] - (double)l->choice[h]);
                if (h != best && value < (double)__builtin_inff()) insert(l, value, (int64_t)((own * n + j) * H + h));
            }
        }
    }
}

int palmette_tag(palmette_sentence *s, int nbest) {
    const palmette_model *m = s->m;
    size_t n = (size_t)s->n, H = (size_t)m->H, K = nbest < 1 ? 1 : (size_t)nbest;
    s->found = s->tagged = 0, s->message[0] = 0;
    if (!n) return PALMETTE_OK;
    if (K > 100000) return fault(s, PALMETTE_INPUT, "at most 100,000 label sequences");
    if (n > (size_t)PTRDIFF_MAX / H / K / 8) return no_memory(s);
    int failed = find_attributes(s);
    if (!failed) failed = score(s);
    if (failed) return failed;
    listing l = {m, s->U.data, s->D.data, sized(&s->paths, K * n, sizeof(int)), sized(&s->losses, K, sizeof(double)),
                 sized(&s->leaves, K, sizeof(int64_t)), s->sums.data, n, H, K, 0, 0};
    double *scores = sized(&s->scores, K, sizeof *scores);
    if (!l.paths || !l.loss || !l.leaves || !scores) return no_memory(s);
    double best = search(m, l.U, s->D.data, n);
    if (best == (double)LOW) return fault(s, PALMETTE_INPUT, "no label sequence is allowed");
    list(&l);
    for (size_t k = 0; k < l.taken; k++) scores[k] = best - l.loss[k];
    s->found = (int)l.taken, s->tagged = 1;
    return PALMETTE_OK;
}

const int *palmette_path(const palmette_sentence *s, int k) {
    return k >= 0 && k < s->found ? (const int *)s->paths.data + (size_t)k * (size_t)s->n : NULL;
}

double palmette_score(const palmette_sentence *s, int k) {
    return k >= 0 && k < s->found ? ((const double *)s->scores.data)[k] : 0.0;
}

/* --- why --- */

static size_t attributes_of(const palmette_sentence *s, int i, size_t *count) {
    const size_t *ends = s->ends.data;
    size_t begin = i > 0 ? ends[i - 1] : 0;
    *count = ends[i] - begin;
    return begin;
}

int palmette_active(const palmette_sentence *s, int i) {
    size_t count;
    if (!s->tagged || i < 0 || i >= s->n) return 0;
    attributes_of(s, i, &count);
    return (int)count;
}

static int spell(palmette_sentence *s, size_t *used, const char *text, size_t length) {
    char *into = sized(&s->spelled, *used + length + 1, 1);
    if (!into) return 0;
    memcpy(into + *used, text, length);
    *used += length, into[*used] = 0;
    return 1;
}

const char *palmette_attribute(palmette_sentence *s, int i, int k) {
    const palmette_model *m = s->m;
    size_t count, used = 0, begin;
    if (!s->tagged || i < 0 || i >= s->n) return NULL;
    begin = attributes_of(s, i, &count);
    if (k < 0 || (size_t)k >= count) return NULL;
    uint32_t kind = ((const uint32_t *)s->kinds.data)[begin + (size_t)k];
    const size_t *first = s->begin.data;
    const cell *cells = s->cells.data;
    if (!m->columns) {
        const cell *own = &cells[first[i] + kind];
        return spell(s, &used, (const char *)s->text.data + own->text, own->length) ? s->spelled.data : NULL;
    }
    const pattern *by = &m->patterns[kind];
    for (int p = by->first; p < by->last; p++) {
        const macro *own = &m->macros[p];
        int at = i + own->row;
        char edge[16], *text = edge;
        ptrdiff_t length;
        if (at >= 0 && at < s->n)
            length = seen(s, &cells[first[at] + (size_t)m->views[own->view].column], &m->views[own->view], &text);
        else length = (ptrdiff_t)outside(at < 0 ? at : at - s->n + 1, edge);
        if (length < 0 || !spell(s, &used, own->literal, own->length) || !spell(s, &used, text, (size_t)length))
            return NULL;
    }
    return spell(s, &used, by->literal, by->length) ? s->spelled.data : NULL;
}

float palmette_weight(const palmette_sentence *s, int i, int k, int label) {
    const palmette_model *m = s->m;
    size_t count, begin;
    if (!s->tagged || i < 0 || i >= s->n || label < 0 || label >= m->H) return 0.0f;
    begin = attributes_of(s, i, &count);
    if (k < 0 || (size_t)k >= count) return 0.0f;
    float *row = s->sums.data;
    memset(row, 0, (size_t)m->H * sizeof *row);
    add(m, ((const uint32_t *)s->attributes.data)[begin + (size_t)k], ((const float *)s->values.data)[begin + (size_t)k], 0, row);
    return row[label];
}

float palmette_own(const palmette_sentence *s, int i, int label) {
    int fine = s->tagged && i >= 0 && i < s->n && label >= 0 && label < s->m->H;
    return fine ? ((const float *)s->U.data)[(size_t)i * (size_t)s->m->H + (size_t)label] : 0.0f;
}
