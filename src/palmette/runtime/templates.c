/* Templates in CRF++'s syntax, compiled: lines such as U05:%x[-1,0,lower]/%x[0,0] to literals and macros, each macro a
   row and a view, which is a column seen through an atom. As features/templates.py and features/encode.py have it. */

#include <string.h>

#include "inside.h"

#define MOST 4096 /* macros, templates and views of a model */

typedef struct {
    palmette_model *m;
    note *why;
    const char *line;
    size_t length;
} line;

static int refuse(line *own, int code, const char *what) {
    note_text(own->why, what);
    note_text(own->why, " in the template ");
    note_some(own->why, own->line, own->length < 60 ? own->length : 60);
    return code;
}

static int small_number(const char *text, size_t *at, size_t end, int *found) {
    size_t begin = *at;
    for (*found = 0; *at < end && *at - begin < 3 && text[*at] >= '0' && text[*at] <= '9'; ++*at)
        *found = *found * 10 + (text[*at] - '0');
    return *at > begin;
}

static int find_view(line *own, int column, const char *atom, size_t length) {
    view made = {column, 0, {{0, 0}}};
    palmette_model *m = own->m;
    if (length) {
        int steps = atom_read(atom, length, made.step, (int)(sizeof made.step / sizeof *made.step));
        if (steps < 0) return -1;
        made.steps = steps;
    }
    for (int v = 0; v < m->n_views; v++) {
        const view *old = &m->views[v];
        if (old->column == column && old->steps == made.steps && !memcmp(old->step, made.step, sizeof made.step))
            return v;
    }
    m->views[m->n_views] = made;
    if (column >= m->columns) m->columns = column + 1;
    return m->n_views++;
}

/* The macro at text[*at]: %x[row,column] or %x[row,column,atom]. */
static int read_macro(line *own, size_t *at, macro *made) {
    const char *text = own->line;
    size_t end = own->length, k = *at + 3;
    int sign = 1, column;
    if (end - *at >= 2 && text[*at + 1] == 'y')
        return refuse(own, PALMETTE_UNSUPPORTED, "an earlier label, which needs a beam,");
    if (end - *at < 3 || text[*at + 1] != 'x' || text[*at + 2] != '[') return refuse(own, PALMETTE_DAMAGED, "no macro");
    if (k < end && (text[k] == '-' || text[k] == '+')) sign = text[k++] == '-' ? -1 : 1;
    if (!small_number(text, &k, end, &made->row) || k >= end || text[k++] != ',' ||
        !small_number(text, &k, end, &column) || k >= end)
        return refuse(own, PALMETTE_DAMAGED, "no macro");
    made->row *= sign;
    const char *atom = text + k, *close = memchr(atom, ']', end - k);
    if (!close || (*atom != ']' && (*atom != ',' || close == atom + 1)))
        return refuse(own, PALMETTE_DAMAGED, "no macro");
    made->view = *atom == ',' ? find_view(own, column, atom + 1, (size_t)(close - atom - 1)) : find_view(own, column, "", 0);
    if (made->view < 0)
        return refuse(own, PALMETTE_UNSUPPORTED, "an atom of a file, an expression or a long chain");
    *at = (size_t)(close + 1 - text);
    return 0;
}

static void set_literal(const char *text, size_t length, uint64_t *hash, uint64_t *power) {
    *hash = hash_add(0, text, length), *power = power_add(1, length);
}

static int read_line(line *own) {
    palmette_model *m = own->m;
    pattern *made = &m->patterns[m->n_patterns];
    const char *text = own->line;
    size_t start = 0, at;
    const char *macros = memchr(text, '%', own->length);
    if (text[0] != 'U' && text[0] != 'B' && text[0] != 'T' && text[0] != '*')
        return refuse(own, PALMETTE_DAMAGED, "an unknown first character");
    if (text[0] != 'U') {
        if (macros) return refuse(own, PALMETTE_UNSUPPORTED, "attributes on label pairs");
        if (text[0] != '*') return 0; /* transitions are weights of their own */
    }
    made->first = m->n_macros;
    while ((macros = memchr(text + start, '%', own->length - start))) {
        macro *one = &m->macros[m->n_macros];
        if (m->n_macros == MOST) return refuse(own, PALMETTE_UNSUPPORTED, "too many macros");
        at = (size_t)(macros - text);
        one->literal = text + start, one->length = at - start;
        set_literal(one->literal, one->length, &one->hash, &one->power);
        int failed = read_macro(own, &at, one);
        if (failed) return failed;
        m->n_macros++, start = at;
    }
    made->last = m->n_macros;
    made->literal = text + start, made->length = own->length - start;
    set_literal(made->literal, made->length, &made->hash, &made->power);
    m->n_patterns++;
    return 0;
}

int templates_read(palmette_model *m, const char *text, size_t length, note *why) {
    size_t macros = 0, lines = 1;
    for (size_t k = 0; k < length; k++) macros += text[k] == '%', lines += text[k] == '\n';
    if (macros >= MOST || lines >= MOST) {
        note_text(why, "more templates than the runtime takes");
        return PALMETTE_UNSUPPORTED;
    }
    m->macros = take(&m->own, (macros + 1) * sizeof *m->macros);
    m->views = take(&m->own, (macros + 1) * sizeof *m->views);
    m->patterns = take(&m->own, (lines + 1) * sizeof *m->patterns);
    if (!m->macros || !m->views || !m->patterns) return PALMETTE_MEMORY;
    for (size_t begin = 0, end; begin < length; begin = end + 1) {
        const char *close = memchr(text + begin, '\n', length - begin);
        end = close ? (size_t)(close - text) : length;
        line own = {m, why, text + begin, end - begin};
        while (own.length && own.line[own.length - 1] == '\r') own.length--;
        size_t blank = 0;
        while (blank < own.length && (own.line[blank] == ' ' || own.line[blank] == '\t')) blank++;
        if (blank == own.length || own.line[0] == '#') continue;
        int failed = read_line(&own);
        if (failed) return failed;
    }
    return 0;
}
