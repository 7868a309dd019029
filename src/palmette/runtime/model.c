/* Model files: mapped or given, their header read, every array that is used checked as its declaration in Python has it
   (structures/chain/array_specs.py), so that what is written in a file cannot lead out of it. */

#define _POSIX_C_SOURCE 200809L

#include <stdlib.h>
#include <string.h>

#include "inside.h"

enum { T_U8, T_U16, T_U32, T_U64, T_I8, T_I16, T_I32, T_I64, T_F32, T_F64, T_BOOL, T_COUNT };
static const struct {
    const char *name;
    int size;
} DTYPES[] = {{"U8", 1},  {"U16", 2}, {"U32", 4}, {"U64", 8}, {"I8", 1},  {"I16", 2},
              {"I32", 4}, {"I64", 8}, {"F32", 4}, {"F64", 8}, {"BOOL", 1}};

typedef struct {
    const void *data;
    int type, rank; /* type -1: there is none of that name */
    uint64_t shape[3], items;
} array;

typedef struct {
    palmette_model *m;
    const json *header;
    const uint8_t *data; /* of the arrays */
    uint64_t size;
    note *why;
    int failed;
} file;

static int damaged(file *f, const char *name, const char *what) {
    if (!f->failed) {
        note_text(f->why, "damaged model file: ");
        if (name) note_text(f->why, "array "), note_text(f->why, name), note_text(f->why, " ");
        note_text(f->why, what);
        note_text(f->why, "; copy, download or train it again");
    }
    return f->failed = PALMETTE_DAMAGED;
}

static int unsupported(file *f, const char *what) {
    if (!f->failed) note_text(f->why, "only the Python package can use this model: "), note_text(f->why, what);
    return f->failed = PALMETTE_UNSUPPORTED;
}

/* --- the header --- */

static uint32_t checksum(uint32_t crc, const uint8_t *data, size_t size) {
    static uint32_t table[8][256];
    static volatile int made;
    if (!made) { /* threads may fill it at the same time, with the same numbers */
        for (uint32_t k = 0; k < 256; k++) {
            uint32_t c = k;
            for (int bit = 0; bit < 8; bit++) c = c & 1 ? c >> 1 ^ 0xEDB88320u : c >> 1;
            table[0][k] = c;
        }
        for (uint32_t k = 0; k < 256; k++)
            for (int t = 1; t < 8; t++) table[t][k] = table[t - 1][k] >> 8 ^ table[0][table[t - 1][k] & 255];
        made = 1;
    }
    crc = ~crc;
    for (; size >= 8; size -= 8, data += 8) {
        uint32_t low, high;
        memcpy(&low, data, 4), memcpy(&high, data + 4, 4);
        low ^= crc;
        crc = table[7][low & 255] ^ table[6][low >> 8 & 255] ^ table[5][low >> 16 & 255] ^ table[4][low >> 24] ^
              table[3][high & 255] ^ table[2][high >> 8 & 255] ^ table[1][high >> 16 & 255] ^ table[0][high >> 24];
    }
    while (size--) crc = crc >> 8 ^ table[0][(crc ^ *data++) & 255];
    return ~crc;
}

/* The array of a name, if its entry is possible. */
static array find(file *f, const char *name) {
    array found = {NULL, -1, 0, {0, 0, 0}, 1};
    const json *entry = json_get(f->header, name), *shape = json_get(entry, "shape");
    const json *dtype = json_get(entry, "dtype"), *places = json_get(entry, "data_offsets");
    if (!entry || f->failed) return found;
    if (!shape || shape->kind != J_LIST || shape->count > 3 || !dtype || dtype->kind != J_STRING || !places ||
        places->kind != J_LIST || places->count != 2)
        return damaged(f, name, "is not described by dtype, shape and data_offsets"), found;
    int type = 0;
    while (type < T_COUNT && strcmp(DTYPES[type].name, dtype->text)) type++;
    int64_t start = json_int(places->child, -1), end = json_int(places->child->next, -1);
    if (type == T_COUNT || start < 0 || end < start || (uint64_t)end > f->size)
        return damaged(f, name, "has an unknown dtype or an impossible place"), found;
    for (const json *one = shape->child; one; one = one->next) {
        int64_t length = json_int(one, -1);
        if (length < 0 || (length && found.items > (uint64_t)INT64_MAX / 16 / (uint64_t)length))
            return damaged(f, name, "has an impossible shape"), found;
        found.shape[found.rank++] = (uint64_t)length, found.items *= (uint64_t)length;
    }
    uint64_t size = (uint64_t)DTYPES[type].size;
    if (found.items * size != (uint64_t)(end - start) ||
        (found.items && ((uintptr_t)(f->data + start) & (size - 1))))
        return damaged(f, name, "has a shape that does not fit its length, or is not aligned"), found;
    found.data = f->data + start, found.type = type;
    return found;
}

static array need(file *f, const char *name, int type, int rank, uint64_t first, uint64_t second, uint64_t third) {
    array found = find(f, name);
    uint64_t wanted[] = {first, second, third};
    if (f->failed) return found;
    if (found.type < 0) damaged(f, name, "is missing");
    else if (found.type != type || found.rank != rank) damaged(f, name, "is of another type");
    else
        for (int k = 0; k < rank; k++)
            if (wanted[k] != UINT64_MAX && wanted[k] != found.shape[k]) damaged(f, name, "has another shape");
    return found;
}

#define ANY_LENGTH UINT64_MAX

/* Floats below infinity; minus infinity is a probability of 0. */
static void check_floats(file *f, const char *name, const float *values, uint64_t n) {
    for (uint64_t k = 0; k < n && !f->failed; k++)
        if (!(values[k] < __builtin_inff())) damaged(f, name, "holds infinity or what is no number");
}

/* --- parts --- */

static const char *const PLAIN = "it is no tagger";

static const json *flag(file *f, const json *shape, const char *name) {
    const json *found = json_get(shape, name);
    if (!found || (found->kind != J_TRUE && found->kind != J_FALSE)) damaged(f, NULL, "its shape lacks a flag");
    return found;
}

static void check_kind(file *f, const json *meta) {
    const json *task = json_get(meta, "task"), *shape = json_get(meta, "shape"), *history = json_get(shape, "history");
    const json *search = json_get(json_get(meta, "settings"), "search"), *kind = json_get(search, "kind");
    if (!task || task->kind != J_STRING || strcmp(task->text, "chain")) unsupported(f, PLAIN);
    else if (!shape || shape->kind != J_OBJECT) damaged(f, NULL, "its metadata has no shape");
    else if (json_get(meta, "imported")) unsupported(f, "it comes from another tool, with weights of 64 bits");
    else if (json_get(meta, "rows")) unsupported(f, "it classifies rows");
    else if (kind && kind->kind == J_STRING && strcmp(kind->text, "viterbi")) unsupported(f, "its search is a beam");
    else if (history && history->kind != J_NULL) unsupported(f, "its labels remember earlier ones");
    else if (json_int(json_get(shape, "per"), 1) != 1) unsupported(f, "its labels have hidden states");
    else if (json_get(meta, "vectors")) unsupported(f, "it reads vectors");
    else if (flag(f, shape, "local") && json_get(shape, "local")->kind == J_TRUE)
        unsupported(f, "its scores are normalised token by token (maxent)");
}

static void read_labels(file *f, const json *meta) {
    palmette_model *m = f->m;
    const json *labels = json_get(meta, "labels"), *scheme = json_get(meta, "scheme");
    if (!labels || labels->kind != J_LIST || !labels->count || labels->count > 1 << 20) {
        damaged(f, NULL, "its metadata has no labels");
        return;
    }
    if (!(m->label = take(&m->own, labels->count * sizeof *m->label))) f->failed = PALMETTE_MEMORY;
    for (const json *one = labels->child; one && !f->failed; one = one->next) {
        if (one->kind != J_STRING || strlen(one->text) != one->length) damaged(f, NULL, "a label is no text");
        else m->label[m->H++] = one->text;
    }
    m->W = m->H < 8 ? m->H : (m->H + 7) / 8 * 8;
    m->scheme = scheme && scheme->kind == J_STRING ? scheme->text : "";
    if (json_int(json_get(json_get(meta, "shape"), "n_labels"), -1) != m->H) damaged(f, NULL, "its shape does not fit");
}

static void read_templates(file *f, const json *meta) {
    palmette_model *m = f->m;
    const json *templates = json_get(meta, "templates"), *text = json_get(templates, "text");
    const json *syntax = json_get(templates, "syntax"), *sizes = json_get(meta, "sizes");
    const json *form = json_get(json_get(meta, "settings"), "unicode");
    const char *const others[] = {"pair", "triple", "past"};
    for (int k = 0; k < 3; k++)
        if (json_get(sizes, others[k])) unsupported(f, "it has attributes on label pairs or on earlier labels");
    int none = templates && templates->kind == J_OBJECT && !json_get(sizes, "label"); /* transitions alone */
    int64_t A = json_int(json_get(sizes, "label"), none ? 0 : -1);
    m->nfc = !(form && form->kind == J_STRING && !strcmp(form->text, "none"));
    m->most_columns = (int)json_int(json_get(meta, "columns"), 0);
    if (A < 0 || A > INT32_MAX) damaged(f, NULL, "its metadata lacks the number of attributes");
    m->A = (uint32_t)(A < 0 ? 0 : A);
    if (f->failed || !templates || templates->kind == J_NULL) return;
    if (!text || text->kind != J_STRING || !syntax || syntax->kind != J_STRING)
        damaged(f, NULL, "its templates are no text");
    else if (strcmp(syntax->text, "crfpp")) unsupported(f, "its templates are in Wapiti's syntax");
    else {
        f->failed = templates_read(m, text->text, text->length, f->why);
        if (!f->failed && !m->columns) m->columns = 1; /* templates without cells: words all the same */
    }
}

static void read_index(file *f) {
    palmette_model *m = f->m;
    if (find(f, "label.low").type >= 0 || find(f, "label.bucket").type >= 0) {
        array bucket = need(f, "label.bucket", T_U32, 1, ANY_LENGTH, 0, 0);
        array low = need(f, "label.low", T_U32, 1, m->A, 0, 0);
        if (f->failed) return;
        uint64_t buckets = bucket.items - 1;
        m->bucket = bucket.data, m->low = low.data;
        if (bucket.items < 3 || buckets & (buckets - 1) || buckets >> 32 || m->bucket[0] ||
            m->bucket[buckets] != m->A)
            damaged(f, "label.bucket", "is not the index of a power of two of buckets");
        for (uint64_t k = 0; k < buckets && !f->failed; k++) {
            if (m->bucket[k + 1] < m->bucket[k]) {
                damaged(f, "label.bucket", "does not rise");
                return;
            }
        }
        for (uint64_t k = 0; k < buckets && !f->failed; k++)
            for (uint32_t a = m->bucket[k] + 1; a < m->bucket[k + 1]; a++)
                if (m->low[a] <= m->low[a - 1]) damaged(f, "label.low", "does not rise");
        while (buckets >> m->bits > 1) m->bits++;
        return;
    }
    if (!m->A && find(f, "label.keys").type < 0) return;
    array keys = need(f, "label.keys", T_U64, 1, ANY_LENGTH, 0, 0);
    array numbers = need(f, "label.numbers", T_I32, 1, keys.items, 0, 0);
    if (f->failed) return;
    uint64_t full = 0;
    m->keys = keys.data, m->numbers = numbers.data, m->places = keys.items;
    for (uint64_t k = 0; k < m->places && !f->failed; k++) {
        int32_t number = m->numbers[k];
        full += m->keys[k] != 0;
        if (number < -1 || number >= (int64_t)m->A || (m->keys[k] && number < 0))
            damaged(f, "label.numbers", "has a number of no attribute");
    }
    if (m->places < 2 || m->places & (m->places - 1) || full == m->places)
        damaged(f, "label.keys", "is not a hash table");
}

static uint64_t item(const uint8_t *data, int size, uint64_t k) {
    uint16_t two;
    uint32_t four;
    if (size == 1) return data[k];
    if (size == 2) return memcpy(&two, data + 2 * k, 2), two;
    return memcpy(&four, data + 4 * k, 4), four;
}

static int counting(array a) { return a.type == T_U8 ? 1 : a.type == T_U16 ? 2 : a.type == T_U32 ? 4 : 0; }

static void read_lists(file *f, array value) {
    palmette_model *m = f->m;
    array count = find(f, "label.count"), state = find(f, "label.state");
    m->count_size = counting(count), m->state_size = counting(state);
    if (f->failed) return;
    if (!m->count_size || !m->state_size || count.rank != 1 || count.items != m->A || state.rank != 1 ||
        value.rank != 1 || state.items != value.items) {
        damaged(f, "label.count", "does not fit label.state and label.value");
        return;
    }
    m->count = count.data, m->state = state.data;
    if (!(m->begin = take(&m->own, (m->A / STEP + 2) * sizeof *m->begin))) {
        f->failed = PALMETTE_MEMORY;
        return;
    }
    uint64_t at = 0;
    for (uint64_t a = 0; a < m->A; a++) {
        if (a % STEP == 0) m->begin[a / STEP] = at;
        uint64_t own = item(m->count, m->count_size, a), before = 0;
        if (own > value.items - at) {
            damaged(f, "label.count", "adds up to too much");
            return;
        }
        for (uint64_t k = 0; k < own; k++) {
            uint64_t h = item(m->state, m->state_size, at + k);
            if (h >= (uint64_t)m->H || (k && h <= before)) {
                damaged(f, "label.state", "has a state that does not exist, or does not rise");
                return;
            }
            before = h;
        }
        at += own;
    }
    if (at != value.items) damaged(f, "label.count", "adds up to too little");
}

#define MANY_LABELS 256 /* structures/chain/lists.py: the order of sums differs from there on */

static void read_weights(file *f) {
    palmette_model *m = f->m;
    array value = find(f, "label.value"), rows = find(f, "label.rows"), dense = find(f, "label.weights");
    if (f->failed) return;
    array given = value.type >= 0 ? value : rows;
    int lists = value.type >= 0 || find(f, "label.count").type >= 0;
    if (given.type >= 0) {
        int bytes = given.type == T_I8;
        if (!bytes && given.type != T_F32) damaged(f, "label.value", "is of another type");
        if (bytes) m->bytes = given.data, m->scale = need(f, "label.scale", T_F32, 1, m->A, 0, 0).data;
        else m->weights = given.data, check_floats(f, "label.value", given.data, given.items);
        if (f->failed) return;
        if (bytes) check_floats(f, "label.scale", m->scale, m->A);
        m->form = lists ? (bytes ? W_BYTE_LISTS : W_LISTS) : bytes ? W_BYTES : W_ROWS;
        m->in_turn = m->form == W_LISTS && m->H >= MANY_LABELS;
        if (lists) read_lists(f, value);
        else if (given.rank != 2 || given.shape[0] != m->A || given.shape[1] != (uint64_t)m->H)
            damaged(f, "label.rows", "has another shape");
        return;
    }
    if (!m->A && dense.type < 0) return;
    dense = need(f, "label.weights", T_F32, 2, ANY_LENGTH, (uint64_t)m->W, 0);
    m->slot = need(f, "label.slot", T_I32, 1, m->A, 0, 0).data;
    if (f->failed) return;
    m->weights = dense.data, m->form = W_DENSE;
    check_floats(f, "label.weights", dense.data, dense.items);
    for (uint32_t a = 0; a < m->A && !f->failed; a++)
        if (m->slot[a] < 0 || (uint64_t)m->slot[a] >= dense.shape[0]) damaged(f, "label.slot", "has no row");
}

static void read_bias(file *f, const json *bias) {
    palmette_model *m = f->m;
    for (const json *one = bias && bias->kind == J_OBJECT ? bias->child : NULL; one && !f->failed; one = one->next) {
        int h = 0;
        while (h < m->H && (strlen(m->label[h]) != one->key_length || memcmp(m->label[h], one->key, one->key_length)))
            h++;
        if (h == m->H || one->kind != J_NUMBER || !(one->number <= 1e9 && one->number >= -1e9))
            damaged(f, NULL, "a bias is of no label");
        else m->bias[h] = (float)one->number;
    }
}

static void read_transitions(file *f, const json *meta) {
    palmette_model *m = f->m;
    uint64_t H = (uint64_t)m->H, W = (uint64_t)m->W;
    int64_t order = json_int(json_get(json_get(meta, "shape"), "order"), -1);
    if (order < 0 || order > 2) damaged(f, NULL, "its order is not 0, 1 or 2");
    uint64_t cubes = order == 2 ? H : 0;
    array start = need(f, "allowed.start", T_BOOL, 1, H, 0, 0), end = need(f, "allowed.end", T_BOOL, 1, H, 0, 0);
    array allowed = need(f, "allowed.pair", T_BOOL, 2, H, H, 0), pair = need(f, "bare.pair", T_F32, 2, H, W, 0);
    array ends = need(f, "bare.end", T_F32, 2, 2, W, 0), triple = need(f, "bare.triple", T_F32, 3, cubes, H, W);
    if (f->failed) return;
    check_floats(f, "bare.pair", pair.data, pair.items);
    check_floats(f, "bare.end", ends.data, ends.items);
    check_floats(f, "bare.triple", triple.data, triple.items);
    m->bias = take(&m->own, H * sizeof(float)), m->first = take(&m->own, H * sizeof(float));
    m->last = take(&m->own, H * sizeof(float)), m->edge = take(&m->own, H * H * sizeof(float));
    if (!m->bias || !m->first || !m->last || !m->edge) {
        f->failed = PALMETTE_MEMORY;
        return;
    }
    const uint8_t *may = allowed.data, *opens = start.data, *closes = end.data;
    const float *w = pair.data, *bare = ends.data;
    m->order = (int)order, m->triple = triple.data, m->ends = bare;
    for (uint64_t g = 0; g < H; g++) {
        m->first[g] = (opens[g] ? 0.0f : -__builtin_inff()) + bare[g];
        m->last[g] = (closes[g] ? 0.0f : -__builtin_inff()) + bare[W + g];
        for (uint64_t h = 0; h < H; h++) {
            m->edge[g * H + h] = (may[g * H + h] ? 0.0f : -__builtin_inff()) + w[g * W + h];
            if (!may[g * H + h] && !order) m->order = 1; /* forbidden pairs hold without transitions too */
        }
    }
    read_bias(f, json_get(meta, "bias"));
}

static int read_header(file *f, const json **meta) {
    palmette_model *m = f->m;
    int no_memory = 0;
    uint64_t length = 0;
    if (m->size >= 8) memcpy(&length, m->data, 8);
    if (m->size < 9 || length < 2 || length > 16 << 20 || m->data[8] != '{') {
        note_text(f->why, "not a palmette model");
        return PALMETTE_DAMAGED;
    }
    if (length > m->size - 8) return damaged(f, NULL, "it is truncated");
    f->header = json_read(&m->own, (const char *)m->data + 8, (size_t)length, &no_memory);
    if (no_memory) return PALMETTE_MEMORY;
    if (!f->header) return damaged(f, NULL, "its header is not JSON");
    f->data = m->data + 8 + length, f->size = m->size - 8 - length;
    const json *about = json_get(f->header, "__metadata__"), *format = json_get(about, "format");
    const json *version = json_get(about, "version"), *text = json_get(about, "meta"), *crc = json_get(about, "crc32");
    if (!format || format->kind != J_STRING || strcmp(format->text, "palmette")) {
        note_text(f->why, "not a palmette model");
        return PALMETTE_DAMAGED;
    }
    if (!version || version->kind != J_STRING || strcmp(version->text, "2"))
        return unsupported(f, "it is of another version of the format");
    if (!text || text->kind != J_STRING || !crc || crc->kind != J_STRING || crc->length != 8)
        return damaged(f, NULL, "its metadata is incomplete");
    char hex[9] = {0};
    uint32_t sum = checksum(checksum(0, (const uint8_t *)text->text, text->length), f->data, (size_t)f->size);
    for (int k = 0; k < 8; k++) hex[k] = "0123456789abcdef"[sum >> (28 - 4 * k) & 15];
    if (memcmp(hex, crc->text, 8)) return damaged(f, NULL, "its checksum differs");
    m->meta = text->text;
    *meta = json_read(&m->own, text->text, text->length, &no_memory);
    if (no_memory) return PALMETTE_MEMORY;
    return *meta && (*meta)->kind == J_OBJECT ? 0 : damaged(f, NULL, "its metadata is not JSON");
}

int model_read(palmette_model *m, note *why) {
    file f = {m, NULL, NULL, 0, why, 0};
    const json *meta = NULL;
    uint16_t one = 1;
    uint8_t little;
    memcpy(&little, &one, 1);
    if (!little) return unsupported(&f, "this processor has another order of bytes");
    f.failed = read_header(&f, &meta);
    if (!f.failed) check_kind(&f, meta);
    if (!f.failed) read_labels(&f, meta);
    if (!f.failed) read_templates(&f, meta);
    if (!f.failed) read_index(&f);
    if (!f.failed) read_weights(&f);
    if (!f.failed) read_transitions(&f, meta);
    if (f.failed == PALMETTE_MEMORY) note_text(why, "memory ran out");
    return f.failed;
}

/* --- opening --- */

static int opened(palmette_model *m, palmette_model **model, note *why) {
    int failed = model_read(m, why);
    if (failed) palmette_close(m);
    else *model = m;
    return failed;
}

int palmette_open_memory(const void *data, size_t length, palmette_model **model, char *message, size_t size) {
    note why = {message, message ? size : 0, 0};
    palmette_model *m = calloc(1, sizeof *m);
    *model = NULL;
    note_text(&why, "");
    if (!m) return note_text(&why, "memory ran out"), PALMETTE_MEMORY;
    m->data = data, m->size = length;
    return opened(m, model, &why);
}

#if defined(__wasm__)
int palmette_open(const char *path, palmette_model **model, char *message, size_t size) {
    note why = {message, message ? size : 0, 0};
    (void)path, *model = NULL;
    note_text(&why, "there are no files here: use palmette_open_memory");
    return PALMETTE_FILE;
}
static void unmap(palmette_model *m) { (void)m; }
#elif defined(_WIN32)
#include <windows.h>
static const uint8_t *map_file(const char *path, size_t *size) {
    wchar_t wide[4096];
    void *found = NULL;
    LARGE_INTEGER length;
    if (!MultiByteToWideChar(CP_UTF8, 0, path, -1, wide, 4096)) return NULL;
    HANDLE opened = CreateFileW(wide, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_DELETE, NULL, OPEN_EXISTING, 0, NULL);
    if (opened == INVALID_HANDLE_VALUE) return NULL;
    if (GetFileSizeEx(opened, &length) && length.QuadPart > 0) {
        HANDLE mapping = CreateFileMappingW(opened, NULL, PAGE_READONLY, 0, 0, NULL);
        if (mapping) found = MapViewOfFile(mapping, FILE_MAP_READ, 0, 0, 0), CloseHandle(mapping);
        *size = (size_t)length.QuadPart;
    }
    CloseHandle(opened);
    return found;
}
static void unmap(palmette_model *m) {
    if (m->mapped) UnmapViewOfFile(m->data);
}
#else
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
static const uint8_t *map_file(const char *path, size_t *size) {
    void *found = MAP_FAILED;
    int opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe has no end to seek, and is refused */
    if (opened < 0) return NULL;
    off_t end = lseek(opened, 0, SEEK_END); /* not fstat, which needs a newer C library than all else */
    if (end > 0 && (uint64_t)end <= PTRDIFF_MAX) {
        *size = (size_t)end;
        found = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, opened, 0);
    }
    close(opened);
    return found == MAP_FAILED ? NULL : found;
}
static void unmap(palmette_model *m) {
    if (m->mapped) munmap((void *)m->data, m->size);
}
#endif

#if !defined(__wasm__)
int palmette_open(const char *path, palmette_model **model, char *message, size_t size) {
    note why = {message, message ? size : 0, 0};
    palmette_model *m = calloc(1, sizeof *m);
    *model = NULL;
    note_text(&why, "");
    if (!m) return note_text(&why, "memory ran out"), PALMETTE_MEMORY;
    m->data = map_file(path, &m->size);
    if (!m->data) {
        free(m);
        note_text(&why, "cannot read the file, or it is empty");
        return PALMETTE_FILE;
    }
    m->mapped = 1;
    return opened(m, model, &why);
}
#endif

void palmette_close(palmette_model *m) {
    if (!m) return;
    unmap(m);
    give_back(&m->own);
    free(m);
}

int palmette_labels(const palmette_model *m) { return m->H; }
const char *palmette_label(const palmette_model *m, int number) {
    return number >= 0 && number < m->H ? m->label[number] : NULL;
}
const char *palmette_scheme(const palmette_model *m) { return m->scheme; }
int palmette_columns(const palmette_model *m) { return m->columns; }
const char *palmette_metadata(const palmette_model *m) { return m->meta; }
float palmette_transition(const palmette_model *m, int before, int label) {
    int fine = before >= 0 && before < m->H && label >= 0 && label < m->H;
    return fine ? m->edge[(size_t)before * (size_t)m->H + (size_t)label] : 0.0f;
}
