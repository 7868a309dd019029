/* What the parts of the runtime share. Letters as in the kernels: H labels, W the stride of a row, A attributes. */

#ifndef PALMETTE_INSIDE_H
#define PALMETTE_INSIDE_H

#include <stddef.h>
#include <stdint.h>

#include "palmette.h"

/* Memory in blocks that are freed together. */
typedef struct block block;
typedef struct {
    block *last;
} arena;
void *take(arena *own, size_t size); /* zeros; NULL if memory ran out */
void give_back(arena *own);

/* A message in parts: texts and numbers. */
typedef struct {
    char *text;
    size_t size, used;
} note;
void note_text(note *to, const char *text);
void note_some(note *to, const char *text, size_t length);
void note_number(note *to, int64_t number);

/* JSON: a tree of values. */
enum { J_NULL, J_FALSE, J_TRUE, J_NUMBER, J_STRING, J_LIST, J_OBJECT };
typedef struct json json;
struct json {
    int kind;
    const char *key, *text; /* of objects' members; of strings, ended by 0 */
    size_t key_length, length;
    double number;
    json *child, *next;
    size_t count; /* of members or items */
};
/* NULL: not JSON, or memory ran out, which `*no_memory` says. */
json *json_read(arena *own, const char *text, size_t length, int *no_memory);
const json *json_get(const json *object, const char *key);
int64_t json_int(const json *value, int64_t otherwise);

/* Words (words.c). An atom is a chain of steps. */
enum {
    S_LOWER = 1, S_NORMAL, S_SHAPE, S_RUNS, S_SKELETON, S_PREFIX, S_SUFFIX, S_CAPITAL, S_ALLCAPS, S_DIGITS, S_HYPHEN,
    S_PUNCTUATION, S_GREEK, S_NUMBER, S_DATE, S_LENGTH, S_ORTHOGRAPHY, S_TYPE
};
typedef struct {
    uint8_t step, size;
} atom_step;
/* The number of characters, -1: not UTF-8. `word` has room for `length`. */
ptrdiff_t utf8_read(const char *text, size_t length, uint32_t *word);
size_t utf8_write(uint32_t character, char *out);
/* Normal form C of a word, in `out`, which has room for 4 n. Returns its length. */
size_t normalised(const uint32_t *word, size_t n, uint32_t *out);
/* 1: word[0..n] is changed in place (it has room for 32 more); 0: the atom is absent. */
int atom_run(const atom_step *steps, int count, uint32_t *word, size_t *n, uint8_t *places);
int atom_read(const char *name, size_t length, atom_step *steps, int most); /* steps; -1: unknown, -2: too many */
#define PLACES 64 /* sets that atom_run needs, each of n + 1 bytes */

/* Hashes (kernels/core/hashing.py). */
uint64_t hash_base(void);
uint64_t hash_add(uint64_t hash, const char *text, size_t length);
uint64_t power_add(uint64_t power, size_t length);
uint64_t mixed(uint64_t hash);

typedef struct {
    int column, steps;
    atom_step step[8];
} view;
typedef struct {
    int row, view;
    uint64_t hash, power; /* of the literal before it */
    const char *literal;
    size_t length;
} macro;
typedef struct {
    int first, last; /* macros */
    uint64_t hash, power;
    const char *literal; /* after the last macro */
    size_t length;
} pattern;

enum { W_DENSE, W_ROWS, W_BYTES, W_LISTS, W_BYTE_LISTS };
#define STEP 8 /* attributes between two known places of lists */

struct palmette_model {
    arena own;
    const uint8_t *data; /* of the file */
    size_t size;
    int mapped;
    const char *meta, *scheme;
    const char **label;
    int H, W, order, columns, most_columns;
    int nfc, no_names, in_turn; /* in_turn: lists of many labels are added one after the other */
    view *views;
    macro *macros;
    pattern *patterns;
    int n_views, n_macros, n_patterns;
    uint32_t A;
    /* the index of attributes: sorted keys, or a hash table */
    const uint32_t *bucket, *low;
    int bits;
    const uint64_t *keys;
    const int32_t *numbers;
    uint64_t places;
    /* weights */
    int form;
    const float *weights, *scale;
    const int8_t *bytes;
    const int32_t *slot;
    const uint8_t *count, *state; /* of 1, 2 or 4 bytes */
    int count_size, state_size;
    uint64_t *begin; /* of lists: of every STEP-th attribute */
    float *bias, *first, *last, *edge; /* [H], [H], [H], [H, H] */
    const float *triple, *ends;
};

int model_read(palmette_model *m, note *why);
/* Templates of CRF++; 0, or a code and why. */
int templates_read(palmette_model *m, const char *text, size_t length, note *why);

#endif
