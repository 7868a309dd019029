/* JSON text to a tree, in an arena. Texts come from files of others: depth is limited, and every byte is looked at
   within the bounds. */

#include <stdlib.h>
#include <string.h>

#include "inside.h"

struct block {
    block *before;
    size_t used, size;
    max_align_t data[];
};

void *take(arena *own, size_t size) {
    if (size > PTRDIFF_MAX / 2) return NULL;
    size = (size + 15) & ~(size_t)15;
    if (!own->last || own->last->size - own->last->used < size) {
        size_t most = size > 65536 ? size : 65536;
        block *made = calloc(1, sizeof *made + most);
        if (!made) return NULL;
        made->before = own->last, made->size = most, own->last = made;
    }
    void *found = (char *)own->last->data + own->last->used;
    own->last->used += size;
    return found;
}

void give_back(arena *own) {
    while (own->last) {
        block *before = own->last->before;
        free(own->last);
        own->last = before;
    }
}

void note_some(note *to, const char *text, size_t length) {
    for (size_t k = 0; k < length && to->used + 1 < to->size; k++) to->text[to->used++] = text[k];
    if (to->size) to->text[to->used] = 0;
}

void note_text(note *to, const char *text) { note_some(to, text, strlen(text)); }

void note_number(note *to, int64_t number) {
    char digits[24];
    int at = sizeof digits;
    uint64_t rest = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    do digits[--at] = (char)('0' + rest % 10), rest /= 10;
    while (rest);
    if (number < 0) digits[--at] = '-';
    note_some(to, digits + at, sizeof digits - (size_t)at);
}

#define DEPTH 64
#define MOST_VALUES (1 << 20)

typedef struct {
    arena *own;
    const char *at, *end;
    int depth, values, no_memory;
} reader;

static void skip(reader *r) {
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r')) r->at++;
}

static int hex4(reader *r) {
    int value = 0;
    if (r->end - r->at < 4) return -1;
    for (int k = 0; k < 4; k++) {
        char c = *r->at++;
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    return value;
}

static int escaped(reader *r, char *out, size_t *n) {
    static const char names[] = "\"\\/bfnrt", means[] = "\"\\/\b\f\n\r\t";
    if (r->at >= r->end) return 0;
    char c = *r->at++;
    const char *known = c ? strchr(names, c) : NULL;
    if (known) {
        out[(*n)++] = means[known - names];
        return 1;
    }
    if (c != 'u') return 0;
    int code = hex4(r);
    if (code >= 0xD800 && code < 0xDC00 && r->end - r->at >= 6 && r->at[0] == '\\' && r->at[1] == 'u') {
        r->at += 2;
        int low = hex4(r);
        if (low < 0xDC00 || low > 0xDFFF) return 0;
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    if (code < 0 || (code >= 0xD800 && code < 0xE000)) return 0;
    *n += utf8_write((uint32_t)code, out + *n);
    return 1;
}

static const char *string(reader *r, size_t *length) {
    const char *close = ++r->at;
    while (close < r->end && *close != '"') close += *close == '\\' && r->end - close > 1 ? 2 : 1;
    if (close >= r->end) return NULL;
    char *out = take(r->own, (size_t)(close - r->at) + 1); /* an escape is longer than what it stands for */
    if (!out) {
        r->no_memory = 1;
        return NULL;
    }
    size_t n = 0;
    while (r->at < close) {
        unsigned char c = (unsigned char)*r->at++;
        if (c < 0x20) return NULL;
        if (c != '\\') out[n++] = (char)c;
        else if (!escaped(r, out, &n)) return NULL;
    }
    if (r->at != close) return NULL;
    r->at++;
    *length = n;
    return out;
}

static json *value(reader *r);

static json *members(reader *r, json *of, char end) {
    json **last = &of->child;
    r->at++;
    skip(r);
    if (r->at < r->end && *r->at == end) {
        r->at++;
        return of;
    }
    for (;;) {
        const char *key = NULL;
        size_t length = 0;
        skip(r);
        if (of->kind == J_OBJECT) {
            if (r->at >= r->end || *r->at != '"' || !(key = string(r, &length))) return NULL;
            skip(r);
            if (r->at >= r->end || *r->at++ != ':') return NULL;
        }
        json *one = value(r);
        if (!one) return NULL;
        one->key = key, one->key_length = length;
        *last = one, last = &one->next, of->count++;
        skip(r);
        if (r->at >= r->end) return NULL;
        char c = *r->at++;
        if (c == end) return of;
        if (c != ',') return NULL;
    }
}

static int word(reader *r, const char *text) {
    size_t length = strlen(text);
    if ((size_t)(r->end - r->at) < length || memcmp(r->at, text, length)) return 0;
    r->at += length;
    return 1;
}

static int number(reader *r, double *found) {
    if (word(r, "NaN")) return *found = 0, 1;
    int minus = word(r, "-"), digits = 0, point = 0;
    if (word(r, "Infinity")) return *found = minus ? -1e308 : 1e308, 1;
    double value = 0, scale = 1;
    while (r->at < r->end && ((*r->at >= '0' && *r->at <= '9') || (*r->at == '.' && !point))) {
        if (*r->at == '.') point = 1;
        else {
            value = value * 10 + (*r->at - '0'), digits++;
            if (point) scale *= 10;
        }
        r->at++;
    }
    if (!digits) return 0;
    value /= scale;
    if (r->at < r->end && (*r->at == 'e' || *r->at == 'E')) {
        r->at++;
        int down = word(r, "-"), power = 0;
        if (!down) word(r, "+");
        for (digits = 0; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++, digits++)
            power = power < 400 ? power * 10 + (*r->at - '0') : power;
        if (!digits) return 0;
        for (int k = 0; k < power; k++) value = down ? value / 10 : value * 10;
    }
    *found = minus ? -value : value;
    return 1;
}

static json *value(reader *r) {
    skip(r);
    if (++r->values > MOST_VALUES) return NULL;
    json *made = take(r->own, sizeof *made);
    if (!made) r->no_memory = 1;
    if (!made || r->at >= r->end) return NULL;
    if (*r->at == '{' || *r->at == '[') {
        made->kind = *r->at == '{' ? J_OBJECT : J_LIST;
        if (++r->depth > DEPTH || !members(r, made, *r->at == '{' ? '}' : ']')) return NULL;
        r->depth--;
        return made;
    }
    if (*r->at == '"') {
        made->kind = J_STRING;
        return (made->text = string(r, &made->length)) ? made : NULL;
    }
    if (word(r, "null")) return made->kind = J_NULL, made;
    if (word(r, "true")) return made->kind = J_TRUE, made;
    if (word(r, "false")) return made->kind = J_FALSE, made;
    made->kind = J_NUMBER;
    return number(r, &made->number) ? made : NULL;
}

json *json_read(arena *own, const char *text, size_t length, int *no_memory) {
    reader r = {own, text, text + length, 0, 0, 0};
    json *found = value(&r);
    skip(&r);
    *no_memory = r.no_memory;
    return found && r.at == r.end ? found : NULL;
}

const json *json_get(const json *object, const char *key) {
    size_t length = strlen(key);
    if (!object || object->kind != J_OBJECT) return NULL;
    for (const json *one = object->child; one; one = one->next)
        if (one->key_length == length && !memcmp(one->key, key, length)) return one;
    return NULL;
}

int64_t json_int(const json *value, int64_t otherwise) {
    if (!value || value->kind != J_NUMBER || !(value->number >= -9e15 && value->number <= 9e15)) return otherwise;
    int64_t whole = (int64_t)value->number;
    return (double)whole == value->number ? whole : otherwise;
}
