/* libpalmette: tag sentences with a model file of Palmette, in any language that can call C. No Python is involved.

   A model is opened once and does not change: any number of threads may use it. Each thread works with sentences of its
   own, which keep their memory from one use to the next:

       char message[200];
       palmette_model *model;
       if (palmette_open("chunk.palm", &model, message, sizeof message)) ...message says why...
       palmette_sentence *sentence = palmette_sentence_new(model);
       palmette_token(sentence);
       palmette_cell(sentence, "Time", 4, 1.0f);
       palmette_cell(sentence, "NN", 2, 1.0f);
       ...
       if (palmette_tag(sentence, 1)) ...palmette_message(sentence) says why...
       for (int i = 0; i < palmette_tokens(sentence); i++)
           puts(palmette_label(model, palmette_path(sentence, 0)[i]));
       palmette_sentence_free(sentence);
       palmette_close(model);

   Models: taggers with exact search over plain labels, on words, columns or ready-made attributes. Others are refused
   with PALMETTE_UNSUPPORTED and the reason. All text is UTF-8. */

#ifndef PALMETTE_H
#define PALMETTE_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define PALMETTE_API __declspec(dllexport)
#else
#define PALMETTE_API __attribute__((visibility("default")))
#endif

enum {
    PALMETTE_OK = 0,
    PALMETTE_FILE = 1,        /* the file cannot be read */
    PALMETTE_DAMAGED = 2,     /* not a model, or not as it was written */
    PALMETTE_UNSUPPORTED = 3, /* a model that only the Python package can use */
    PALMETTE_INPUT = 4,       /* tokens that the model cannot take */
    PALMETTE_MEMORY = 5       /* memory ran out */
};

typedef struct palmette_model palmette_model;
typedef struct palmette_sentence palmette_sentence;

/* Models. `message` gets the reason of a failure, at most `size` bytes with the final 0; it may be NULL. */
PALMETTE_API int palmette_open(const char *path, palmette_model **model, char *message, size_t size);
/* A model in memory, aligned to 8 bytes, which must stay there and unchanged until palmette_close. */
PALMETTE_API int palmette_open_memory(
    const void *data, size_t length, palmette_model **model, char *message, size_t size);
PALMETTE_API void palmette_close(palmette_model *model);

PALMETTE_API int palmette_labels(const palmette_model *model);
PALMETTE_API const char *palmette_label(const palmette_model *model, int number);
/* The tag scheme, such as "IOB2"; "" if labels are not chunks. */
PALMETTE_API const char *palmette_scheme(const palmette_model *model);
/* How many cells a token needs; 0: the model has ready-made attributes, any number of them per token. */
PALMETTE_API int palmette_columns(const palmette_model *model);
/* The metadata of the file as JSON. */
PALMETTE_API const char *palmette_metadata(const palmette_model *model);

/* Sentences. NULL: memory ran out. */
PALMETTE_API palmette_sentence *palmette_sentence_new(const palmette_model *model);
PALMETTE_API void palmette_sentence_free(palmette_sentence *sentence);
PALMETTE_API void palmette_clear(palmette_sentence *sentence);
/* Begin a token. */
PALMETTE_API int palmette_token(palmette_sentence *sentence);
/* Add a cell, or an attribute with its value, to the last token. */
PALMETTE_API int palmette_cell(palmette_sentence *sentence, const char *text, size_t length, float value);
/* Find the `nbest` best label sequences. Then further tokens belong to the same sentence until palmette_clear. */
PALMETTE_API int palmette_tag(palmette_sentence *sentence, int nbest);
PALMETTE_API const char *palmette_message(const palmette_sentence *sentence);

PALMETTE_API int palmette_tokens(const palmette_sentence *sentence);
/* How many sequences were found: at most as many as asked for. */
PALMETTE_API int palmette_found(const palmette_sentence *sentence);
/* The labels of sequence k, 0 being the best: a number per token. */
PALMETTE_API const int *palmette_path(const palmette_sentence *sentence, int k);
PALMETTE_API double palmette_score(const palmette_sentence *sentence, int k);

/* Why: the attributes that token i has in the model, their text and their weight for a label. */
PALMETTE_API int palmette_active(const palmette_sentence *sentence, int i);
PALMETTE_API const char *palmette_attribute(palmette_sentence *sentence, int i, int k);
PALMETTE_API float palmette_weight(const palmette_sentence *sentence, int i, int k, int label);
/* The score of a label for token i alone, and that of a label after another one. */
PALMETTE_API float palmette_own(const palmette_sentence *sentence, int i, int label);
PALMETTE_API float palmette_transition(const palmette_model *model, int before, int label);

/* What an atom of templates, such as "lower.suffix3", makes of a word in normal form C: the length of the text, which is
   written to `out` as far as it fits; -1: nothing; -2: there is no such atom, the word is not UTF-8, or no memory. */
PALMETTE_API ptrdiff_t palmette_atom(const char *atom, const char *text, size_t length, char *out, size_t size);

/* The version of Unicode whose letters and digits the library knows, such as "15.0.0"; and the hash of its sources. */
PALMETTE_API const char *palmette_unicode(void);
PALMETTE_API const char *palmette_sources(void);

#ifdef __cplusplus
}
#endif

#endif
