/* Words: UTF-8, normal form C, hashes, and the atoms that templates use. The definitions are those of
   features/wordforms.py, whose regular expressions stand beside the functions here; tests compare the two on every
   character and on random words. */

#include <string.h>

#include "inside.h"
#include "tables.h"

const char *palmette_unicode(void) { return UNICODE_VERSION; }
const char *palmette_sources(void) { return SOURCES; }

static const record *about(uint32_t c) { return &RECORDS[c < 0x110000 ? BLOCKS[INDEX[c >> 7] * 128 + (c & 127)] : 0]; }

static int is(uint32_t c, uint32_t flags) { return (about(c)->flags & flags) != 0; }

/* --- UTF-8 --- */

ptrdiff_t utf8_read(const char *text, size_t length, uint32_t *word) {
    const unsigned char *at = (const unsigned char *)text, *end = at + length;
    ptrdiff_t n = 0;
    while (at < end) {
        uint32_t c = *at++;
        int more = c < 0x80 ? 0 : c < 0xC2 ? -1 : c < 0xE0 ? 1 : c < 0xF0 ? 2 : c < 0xF5 ? 3 : -1;
        if (more < 0 || end - at < more) return -1;
        if (more) c &= 0x3Fu >> more;
        for (int k = 0; k < more; k++) {
            if ((at[k] & 0xC0) != 0x80) return -1;
            c = c << 6 | (at[k] & 0x3F);
        }
        at += more;
        if ((more == 2 && c < 0x800) || (more == 3 && c < 0x10000) || c > 0x10FFFF || (c >= 0xD800 && c < 0xE000))
            return -1;
        word[n++] = c;
    }
    return n;
}

size_t utf8_write(uint32_t c, char *out) {
    if (c < 0x80) return out[0] = (char)c, 1;
    if (c < 0x800) return out[0] = (char)(0xC0 | c >> 6), out[1] = (char)(0x80 | (c & 63)), 2;
    if (c < 0x10000)
        return out[0] = (char)(0xE0 | c >> 12), out[1] = (char)(0x80 | (c >> 6 & 63)),
               out[2] = (char)(0x80 | (c & 63)), 3;
    return out[0] = (char)(0xF0 | c >> 18), out[1] = (char)(0x80 | (c >> 12 & 63)),
           out[2] = (char)(0x80 | (c >> 6 & 63)), out[3] = (char)(0x80 | (c & 63)), 4;
}

/* --- normal form C --- */

static int is_normal(const uint32_t *word, size_t n) {
    int before = 0;
    for (size_t i = 0; i < n; i++) {
        const record *own = about(word[i]);
        if (own->flags & MAYBE || (own->combining && own->combining < before)) return 0;
        before = own->combining;
    }
    return 1;
}

static size_t decomposed(uint32_t c, uint32_t *out) {
    if (c >= 0xAC00 && c < 0xD7A4) { /* a Korean syllable */
        uint32_t s = c - 0xAC00, t = s % 28;
        out[0] = 0x1100 + s / 588, out[1] = 0x1161 + s % 588 / 28, out[2] = 0x11A7 + t;
        return t ? 3 : 2;
    }
    size_t low = 0, high = sizeof COMPOSED / sizeof *COMPOSED;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (COMPOSED[middle].whole < c) low = middle + 1;
        else high = middle;
    }
    if (low == sizeof COMPOSED / sizeof *COMPOSED || COMPOSED[low].whole != c) return out[0] = c, 1;
    size_t n = decomposed(COMPOSED[low].first, out);
    if (COMPOSED[low].second) n += decomposed(COMPOSED[low].second, out + n);
    return n;
}

/* The character that two make; 0 if none. */
static uint32_t composed(uint32_t first, uint32_t second) {
    if (first >= 0x1100 && first < 0x1113 && second >= 0x1161 && second < 0x1176)
        return 0xAC00 + ((first - 0x1100) * 21 + second - 0x1161) * 28;
    if (first >= 0xAC00 && first < 0xD7A4 && (first - 0xAC00) % 28 == 0 && second > 0x11A7 && second < 0x11C3)
        return first + second - 0x11A7;
    size_t low = 0, high = sizeof PAIRS / sizeof *PAIRS;
    while (low < high) {
        size_t middle = (low + high) / 2;
        const composition *one = &COMPOSED[PAIRS[middle]];
        if (one->first < first || (one->first == first && one->second < second)) low = middle + 1;
        else high = middle;
    }
    if (low == sizeof PAIRS / sizeof *PAIRS) return 0;
    const composition *one = &COMPOSED[PAIRS[low]];
    return one->first == first && one->second == second ? one->whole : 0;
}

size_t normalised(const uint32_t *word, size_t n, uint32_t *out) {
    if (is_normal(word, n)) {
        memcpy(out, word, n * sizeof *word);
        return n;
    }
    size_t size = 0, kept = 0, starter = 0;
    for (size_t i = 0; i < n; i++) size += decomposed(word[i], out + size);
    for (size_t i = 1; i < size; i++) { /* marks in the order of their classes */
        uint32_t own = out[i];
        int class = about(own)->combining;
        size_t k = i;
        for (; class && k > 0 && about(out[k - 1])->combining > class; k--) out[k] = out[k - 1];
        out[k] = own;
    }
    int have = 0, before = -1; /* before: the class of the last mark that stayed after the starter */
    for (size_t i = 0; i < size; i++) {
        int class = about(out[i])->combining;
        uint32_t made = have && before < class ? composed(out[starter], out[i]) : 0;
        if (made) {
            out[starter] = made;
            continue;
        }
        if (!class) starter = kept, have = 1, before = -1;
        else before = class;
        out[kept++] = out[i];
    }
    return kept;
}

/* --- hashes --- */

uint64_t hash_base(void) { return BASE; }

uint64_t hash_add(uint64_t hash, const char *text, size_t length) {
    for (size_t k = 0; k < length; k++) hash = hash * BASE + RANDOM[(unsigned char)text[k]];
    return hash;
}

uint64_t power_add(uint64_t power, size_t length) {
    for (size_t k = 0; k < length; k++) power *= BASE;
    return power;
}

uint64_t mixed(uint64_t hash) {
    hash ^= hash >> 33, hash *= UINT64_C(0xFF51AFD7ED558CCD);
    hash ^= hash >> 33, hash *= UINT64_C(0xC4CEB9FE1A85EC53);
    hash ^= hash >> 33;
    return hash ? hash : 1;
}

/* --- case --- */

static int final_sigma(const uint32_t *word, size_t n, size_t i) {
    size_t k = i;
    while (k > 0 && is(word[k - 1], IGNORED) && !is(word[k - 1], CASED)) k--;
    if (!k || !is(word[k - 1], CASED)) return 0;
    for (k = i + 1; k < n && is(word[k], IGNORED) && !is(word[k], CASED); k++) {}
    return k == n || !is(word[k], CASED);
}

static uint32_t small(uint32_t c) { return (uint32_t)((int32_t)c + about(c)->lower); }

static void lower(uint32_t *word, size_t *n) {
    size_t dotted = 0;
    for (size_t i = 0; i < *n; i++) dotted += word[i] == 0x130;
    for (size_t i = 0; i < *n; i++)
        if (word[i] == 0x3A3) word[i] = final_sigma(word, *n, i) ? 0x3C2 : 0x3C3;
        else if (word[i] != 0x130) word[i] = small(word[i]);
    if (!dotted) return;
    size_t to = *n + dotted; /* the capital I with a dot becomes i and a dot above */
    for (size_t i = *n; i-- > 0;) {
        if (word[i] == 0x130) word[--to] = 0x307, word[--to] = 'i';
        else word[--to] = word[i];
    }
    *n += dotted;
}

static int is_lower(const uint32_t *w, size_t n) {
    int cased = 0;
    for (size_t i = 0; i < n; i++) {
        if (is(w[i], UPPER | TITLE)) return 0;
        cased |= is(w[i], LOWER);
    }
    return cased;
}

static int is_upper(const uint32_t *w, size_t n) {
    int cased = 0;
    for (size_t i = 0; i < n; i++) {
        if (is(w[i], LOWER | TITLE)) return 0;
        cased |= is(w[i], UPPER);
    }
    return cased;
}

static int is_title(const uint32_t *w, size_t n) {
    int cased = 0, before = 0;
    for (size_t i = 0; i < n; i++) {
        int big = is(w[i], UPPER | TITLE), little = is(w[i], LOWER);
        if ((big && before) || (little && !before && !big)) return 0;
        before = big || little, cased |= before;
    }
    return cased;
}

static int all_are(const uint32_t *w, size_t n, uint32_t flags) {
    for (size_t i = 0; i < n; i++)
        if (!is(w[i], flags)) return 0;
    return n > 0;
}

static int any_is(const uint32_t *w, size_t n, uint32_t flags) {
    for (size_t i = 0; i < n; i++)
        if (is(w[i], flags)) return 1;
    return 0;
}

/* --- regular expressions, as sets of the positions that they reach --- */

typedef struct {
    const uint32_t *w;
    size_t n;
    uint8_t *free; /* sets */
} matching;
typedef int (*class)(uint32_t c);
typedef uint8_t *set; /* [n + 1] */

static set empty(matching *m) {
    set made = m->free;
    m->free += m->n + 1;
    memset(made, 0, m->n + 1);
    return made;
}

static set start(matching *m) {
    set made = empty(m);
    made[0] = 1;
    return made;
}

static set either(matching *m, set a, set b) {
    set made = empty(m);
    for (size_t i = 0; i <= m->n; i++) made[i] = a[i] | b[i];
    return made;
}

static set one(matching *m, set a, class is_in) {
    set made = empty(m);
    for (size_t i = 0; i < m->n; i++) made[i + 1] = a[i] && is_in(m->w[i]);
    return made;
}

static set some(matching *m, set a, class is_in) { /* + */
    set made = empty(m);
    for (size_t i = 0; i < m->n; i++) made[i + 1] = (a[i] || made[i]) && is_in(m->w[i]);
    return made;
}

static set maybe(matching *m, set a, class is_in) { return either(m, a, one(m, a, is_in)); }

static set up_to(matching *m, set a, class is_in, int most) { /* {0,most} */
    set made = a;
    for (int k = 0; k < most; k++) made = either(m, a, one(m, made, is_in));
    return made;
}

static int no_case(uint32_t c, uint32_t letter) {
    return c == letter || c == letter - 32 || (letter == 's' && c == 0x17F);
}

static set letters(matching *m, set a, const char *text) { /* small letters, in either case */
    for (; *text; text++) {
        set made = empty(m);
        for (size_t i = 0; i < m->n; i++) made[i + 1] = a[i] && no_case(m->w[i], (unsigned char)*text);
        a = made;
    }
    return a;
}

static int D(uint32_t c) { return is(c, DECIMAL); }
static int sign(uint32_t c) { return c == '-' || c == '+' || c == 0x2212; }
static int comma(uint32_t c) { return c == ','; }
static int space_or_comma(uint32_t c) { return c == ',' || c == 0xA0 || c == 0x202F; }
static int point_or_comma(uint32_t c) { return c == ',' || c == '.'; }
static int digit_or_comma(uint32_t c) { return c == ',' || D(c); }
static int percent(uint32_t c) { return c == '%' || c == 0x2030; }
static int just_percent(uint32_t c) { return c == '%'; }
static int ordinal_mark(uint32_t c) { return c == 0xBA || c == 0xAA; }
static int slash(uint32_t c) { return c == '/' || c == 0x2044; }
static int just_slash(uint32_t c) { return c == '/'; }
static int vulgar(uint32_t c) { return (c >= 0xBC && c <= 0xBE) || (c >= 0x2150 && c <= 0x215E); }
static int minus(uint32_t c) { return c == '-'; }
static int dash(uint32_t c) { return c == '-' || c == 0x2013 || c == 0x2212; }
static int currency(uint32_t c) { return c == '$' || (c >= 0xA2 && c <= 0xA5) || (c >= 0x20A0 && c <= 0x20BF); }
static int letter(uint32_t c) { /* [A-Z] in either case, as Python has it */
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == 0x130 || c == 0x131 || c == 0x17F || c == 0x212A;
}
static int quote(uint32_t c) { return c == '\'' || c == 0x2019; }
static int digit(uint32_t c) { return c >= '0' && c <= '9'; }
static int positive(uint32_t c) { return c >= '1' && c <= '9'; }
static int is_0(uint32_t c) { return c == '0'; }
static int is_1(uint32_t c) { return c == '1'; }
static int is_2(uint32_t c) { return c == '2'; }
static int colon(uint32_t c) { return c == ':'; }
static int colon_or_point(uint32_t c) { return c == ':' || c == '.'; }
static int just_point(uint32_t c) { return c == '.'; }
static int a_or_p(uint32_t c) { return c == 'a' || c == 'p' || c == 'A' || c == 'P'; }

/* \d{1,3}(?:SEPARATOR\d{3})+ */
static set grouped(matching *m, set a, class separator) {
    set b = one(m, a, D), c = one(m, b, D), d = one(m, c, D);
    set begun = either(m, b, either(m, c, d)), made = empty(m);
    for (size_t i = 0; i + 4 <= m->n; i++)
        made[i + 4] = (begun[i] || made[i]) && separator(m->w[i]) && D(m->w[i + 1]) && D(m->w[i + 2]) && D(m->w[i + 3]);
    return made;
}

/* [-+−]?(?:\d+|\d{1,3}(?:[,  ]\d{3})+) */
static set integer(matching *m, set a) {
    a = maybe(m, a, sign);
    return either(m, some(m, a, D), grouped(m, a, space_or_comma));
}

/* [-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)?[.,]\d+ */
static set decimal(matching *m, set a) {
    a = maybe(m, a, sign);
    set whole = either(m, a, either(m, grouped(m, a, comma), some(m, a, D)));
    return some(m, one(m, whole, point_or_comma), D);
}

static set any(matching *m, set a) { return either(m, decimal(m, a), integer(m, a)); }

static int matches(matching *m, set (*expression)(matching *, set)) {
    uint8_t *before = m->free;
    int found = expression(m, start(m))[m->n];
    m->free = before;
    return found;
}

static set percentage(matching *m, set a) {
    return either(m, one(m, any(m, a), percent), any(m, one(m, a, just_percent)));
}

/* \d[\d,]*(?:st|nd|rd|th|º|ª) */
static set ordinal(matching *m, set a) {
    a = one(m, a, D);
    a = either(m, a, some(m, a, digit_or_comma));
    set ends = either(m, letters(m, a, "st"), letters(m, a, "nd"));
    ends = either(m, ends, either(m, letters(m, a, "rd"), letters(m, a, "th")));
    return either(m, ends, one(m, a, ordinal_mark));
}

/* \d+[/⁄]\d+|\d*VULGAR|\d+-\d+/\d+ */
static set fraction(matching *m, set a) {
    set digits = some(m, a, D), b = some(m, one(m, digits, slash), D);
    set c = one(m, either(m, a, digits), vulgar);
    set d = some(m, one(m, some(m, one(m, digits, minus), D), just_slash), D);
    return either(m, b, either(m, c, d));
}

static set range(matching *m, set a) { return any(m, one(m, any(m, a), dash)); }

/* (?:[A-Z]{1,3})?CURRENCY ANY|ANY CURRENCY */
static set money(matching *m, set a) {
    set before = any(m, one(m, up_to(m, a, letter, 3), currency));
    return either(m, before, one(m, any(m, a), currency));
}

/* 1[0-9]\d\d|20\d\d|['’]\d\d */
static set year(matching *m, set a) {
    set b = one(m, one(m, a, is_1), digit), c = one(m, one(m, a, is_2), is_0), d = one(m, a, quote);
    return one(m, one(m, either(m, d, either(m, b, c)), D), D);
}

/* (?:(?:1[0-9]|20)\d|['’]?[1-9])0['’]?s */
static set decade(matching *m, set a) {
    set b = one(m, one(m, a, is_1), digit), c = one(m, one(m, a, is_2), is_0);
    set d = one(m, maybe(m, a, quote), positive);
    return letters(m, maybe(m, one(m, either(m, one(m, either(m, b, c), D), d), is_0), quote), "s");
}

/* \d{4}([-/.])\d\d?\1\d\d?|\d\d?([-/.])\d\d?\2\d\d(?:\d\d)? */
static set day(matching *m, set a) {
    class separators[] = {minus, just_slash, just_point};
    set two = one(m, a, D), four;
    two = either(m, two, one(m, two, D));
    four = one(m, one(m, one(m, one(m, a, D), D), D), D);
    set found = empty(m);
    for (int k = 0; k < 3; k++) {
        uint8_t *before = m->free;
        set b = one(m, one(m, four, separators[k]), D);
        b = one(m, one(m, either(m, b, one(m, b, D)), separators[k]), D);
        b = either(m, b, one(m, b, D));
        set c = one(m, one(m, two, separators[k]), D);
        c = one(m, one(m, one(m, either(m, c, one(m, c, D)), separators[k]), D), D);
        c = either(m, c, one(m, one(m, c, D), D));
        for (size_t i = 0; i <= m->n; i++) found[i] |= b[i] | c[i];
        m->free = before;
    }
    return found;
}

static set am_pm(matching *m, set a) { /* [ap]\.?m\.? */
    a = letters(m, maybe(m, one(m, a, a_or_p), just_point), "m");
    return maybe(m, a, just_point);
}

/* \d\d?[:.]\d\d(?::\d\d)?(?:[ap]\.?m\.?)?|\d\d?[ap]\.?m\.? */
static set time_of_day(matching *m, set a) {
    set hour = one(m, a, D);
    hour = either(m, hour, one(m, hour, D));
    set b = one(m, one(m, one(m, hour, colon_or_point), D), D);
    b = either(m, b, one(m, one(m, one(m, b, colon), D), D));
    return either(m, either(m, b, am_pm(m, b)), am_pm(m, hour));
}

static const struct {
    const char *name;
    set (*expression)(matching *, set);
} NUMBERS[] = {{"integer", integer}, {"decimal", decimal}, {"percent", percentage}, {"ordinal", ordinal},
               {"fraction", fraction}, {"range", range}, {"money", money}},
  DATES[] = {{"year", year}, {"decade", decade}, {"day", day}, {"time", time_of_day}};

static int is_letter(uint32_t c, char wanted) { return c == (unsigned char)wanted; }

/* M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3}) */
static int is_roman(const uint32_t *w, size_t n) {
    static const char digits[] = "MDCLXVI";
    if (n < 2 || n > 15) return 0;
    for (size_t i = 0; i < n; i++)
        if (!w[i] || w[i] > 127 || !strchr(digits, (int)w[i])) return 0;
    size_t i = 0;
    while (i < n && i < 3 && is_letter(w[i], 'M')) i++;
    for (int k = 1; k < 7; k += 2) { /* D and C, L and X, V and I: each is deterministic */
        char five = digits[k], unit = digits[k + 1], ten = digits[k - 1];
        if (i + 1 < n && is_letter(w[i], unit) && (is_letter(w[i + 1], ten) || is_letter(w[i + 1], five))) {
            i += 2;
            continue;
        }
        if (i < n && is_letter(w[i], five)) i++;
        for (int units = 0; units < 3 && i < n && is_letter(w[i], unit); units++) i++;
    }
    return i == n;
}

static const char *number_of(const uint32_t *w, size_t n, uint8_t *places) {
    matching m = {w, n, places};
    int has = 0;
    for (size_t i = 0; i < n; i++) has |= D(w[i]) || vulgar(w[i]);
    if (!has) return is_roman(w, n) ? "roman" : NULL;
    for (size_t k = 0; k < sizeof NUMBERS / sizeof *NUMBERS; k++)
        if (matches(&m, NUMBERS[k].expression)) return NUMBERS[k].name;
    return NULL;
}

static int is_text(const uint32_t *w, size_t n, const char *text) {
    for (size_t i = 0; i < n; i++)
        if (!text[i] || w[i] != (unsigned char)text[i]) return 0;
    return !text[n];
}

static const char *date_of(const uint32_t *w, size_t n, uint8_t *places) {
    matching m = {w, n, places};
    if (any_is(w, n, DECIMAL)) {
        if (matches(&m, decimal)) return NULL;
        for (size_t k = 0; k < sizeof DATES / sizeof *DATES; k++)
            if (matches(&m, DATES[k].expression)) return DATES[k].name;
        return NULL;
    }
    if (!n || !is(w[0], UPPER | TITLE)) return NULL;
    while (n > 0 && w[n - 1] == '.') n--;
    uint32_t word[32];
    if (!n || n > 12) return NULL;
    memcpy(word, w, n * sizeof *w);
    lower(word, &n);
    for (size_t k = 0; k < sizeof DATE_WORDS / sizeof *DATE_WORDS; k++)
        if (is_text(word, n, DATE_WORDS[k][0])) return DATE_WORDS[k][1];
    return NULL;
}

/* --- classes of words --- */

static int greek_name(const uint32_t *w, size_t n) {
    uint32_t word[32];
    if (!n || n > 8) return 0;
    memcpy(word, w, n * sizeof *w);
    lower(word, &n);
    for (size_t k = 0; k < sizeof GREEK_NAMES / sizeof *GREEK_NAMES; k++)
        if (is_text(word, n, GREEK_NAMES[k])) return 1;
    return 0;
}

static int is_greek(const uint32_t *w, size_t n) {
    for (size_t i = 0; i < n; i++)
        if ((w[i] >= 0x370 && w[i] <= 0x3FF) || (w[i] >= 0x1F00 && w[i] <= 0x1FFF)) return 1;
    if (all_are(w, n, ALPHA)) return greek_name(w, n);
    for (size_t i = 0, begin = 0; i <= n; i++) /* runs of [^\W\d_] */
        if (i == n || !is(w[i], ALNUM) || D(w[i])) {
            if (greek_name(w + begin, i - begin)) return 1;
            begin = i + 1;
        }
    return 0;
}

static int is_punctuation(const uint32_t *w, size_t n) { return n && !is(w[0], ALNUM) && all_are(w, n, MARK); }

static int is_hyphen(uint32_t c) { return c == '-' || (c >= 0x2010 && c <= 0x2013) || c == 0x2212; }

static int has_hyphen(const uint32_t *w, size_t n) {
    for (size_t i = 1; i + 1 < n; i++)
        if (is_hyphen(w[i]) && is(w[i - 1], WORD) && is(w[i + 1], WORD)) return 1;
    return 0;
}

static int all_capitals(const uint32_t *w, size_t n) {
    int letters = 0;
    for (size_t i = 0; i < n && letters < 2; i++) letters += is(w[i], ALPHA);
    return letters > 1 && is_upper(w, n);
}

static const char *orthography(const uint32_t *w, size_t n, uint8_t *places) {
    if (all_are(w, n, ALPHA)) {
        if (is_greek(w, n)) return "greek";
        if (is_lower(w, n)) return "lower";
        if (n == 1 && is_upper(w, n)) return "letter";
        if (is_roman(w, n)) return "roman";
        if (is_upper(w, n)) return "acronym";
        if (is_title(w, n)) return "initial";
        return all_are(w, n, CASELESS) ? "caseless" : "mixed";
    }
    int digits = any_is(w, n, DECIMAL), hyphen = has_hyphen(w, n);
    if (is_punctuation(w, n)) return "punctuation";
    if (number_of(w, n, places) || date_of(w, n, places)) return "number";
    if (is_greek(w, n)) return "greek";
    if (hyphen) return digits ? "hyphen_digits" : any_is(w, n, CHANGES) ? "hyphen_capitals" : "hyphen";
    if (digits && is_upper(w, n)) return "capitals_digits";
    if (digits && all_are(w, n, ALNUM)) return "letters_digits";
    return n && w[n - 1] == '.' ? "abbreviation" : "other";
}

static const char *length_of(size_t n) {
    static const char *const few[] = {"0", "1", "2", "3", "4", "5"};
    return n < 6 ? few[n] : n < 8 ? "6-7" : n < 11 ? "8-10" : n < 16 ? "11-15" : "16+";
}

static const char *script(const uint32_t *w, size_t n) {
    if (!n) return NULL;
    for (size_t i = 1; i < n; i++)
        if (about(w[i])->script != about(w[0])->script) return "mixed";
    return SCRIPTS[about(w[0])->script];
}

static uint32_t shape_of(uint32_t c) {
    uint32_t flags = about(c)->flags;
    return flags & (UPPER | TITLE) ? 'X' : flags & LOWER ? 'x' : flags & DECIMAL ? '9' : flags & LETTER_SHAPE ? 'c' : c;
}

/* --- atoms by name --- */

static const struct {
    const char *name;
    uint8_t steps[2];
} ATOMS[] = {
    {"lower", {S_LOWER}}, {"normal", {S_NORMAL}}, {"shape", {S_SHAPE}}, {"short_shape", {S_SHAPE, S_RUNS}},
    {"skeleton", {S_SKELETON}}, {"capital", {S_CAPITAL}}, {"allcaps", {S_ALLCAPS}}, {"digits", {S_DIGITS}},
    {"hyphen", {S_HYPHEN}}, {"punctuation", {S_PUNCTUATION}}, {"greek", {S_GREEK}}, {"number", {S_NUMBER}},
    {"date", {S_DATE}}, {"length", {S_LENGTH}}, {"orthography", {S_ORTHOGRAPHY}}, {"type", {S_TYPE}},
};

static int read_one(const char *name, size_t length, atom_step *steps, int most) {
    for (int suffix = 0; suffix < 2; suffix++)
        if (length == 7 && !memcmp(name, suffix ? "suffix" : "prefix", 6) && name[6] >= '1' &&
            name[6] <= (suffix ? '9' : '5')) {
            if (most < 1) return -2;
            steps[0].step = suffix ? S_SUFFIX : S_PREFIX, steps[0].size = (uint8_t)(name[6] - '0');
            return 1;
        }
    for (size_t k = 0; k < sizeof ATOMS / sizeof *ATOMS; k++) {
        if (strlen(ATOMS[k].name) != length || memcmp(ATOMS[k].name, name, length)) continue;
        int n = ATOMS[k].steps[1] ? 2 : 1;
        if (most < n) return -2;
        for (int j = 0; j < n; j++) steps[j].step = ATOMS[k].steps[j], steps[j].size = 0;
        return n;
    }
    return -1;
}

int atom_read(const char *name, size_t length, atom_step *steps, int most) {
    int n = 0;
    for (;;) {
        const char *point = memchr(name, '.', length);
        size_t own = point ? (size_t)(point - name) : length;
        int made = read_one(name, own, steps + n, most - n);
        if (made < 0) return made;
        n += made;
        if (!point) return n;
        name += own + 1, length -= own + 1;
    }
}

static int named(const char *name, uint32_t *word, size_t *n) {
    if (!name) return 0;
    for (*n = 0; name[*n]; ++*n) word[*n] = (unsigned char)name[*n];
    return 1;
}

static int run_step(atom_step step, uint32_t *w, size_t *n, uint8_t *places) {
    size_t kept = 0;
    switch (step.step) {
    case S_LOWER: lower(w, n); return 1;
    case S_NORMAL:
        for (size_t i = 0; i < *n; i++) w[i] = D(w[i]) ? '0' : w[i];
        return 1;
    case S_SHAPE:
        for (size_t i = 0; i < *n; i++) w[i] = shape_of(w[i]);
        return 1;
    case S_RUNS:
        for (size_t i = 0; i < *n; i++)
            if (!i || w[i] != w[kept - 1]) w[kept++] = w[i];
        *n = kept;
        return 1;
    case S_SKELETON:
        for (size_t i = 0; i < *n; i++) w[i] = is(w[i], VOWEL) ? '*' : small(w[i]);
        return 1;
    case S_PREFIX:
        if (*n < step.size) return 0;
        *n = step.size;
        return 1;
    case S_SUFFIX:
        if (*n < step.size) return 0;
        memmove(w, w + *n - step.size, step.size * sizeof *w);
        *n = step.size;
        return 1;
    case S_CAPITAL: return named(*n && is(w[0], UPPER | TITLE) ? "capital" : NULL, w, n);
    case S_ALLCAPS: return named(all_capitals(w, *n) ? "allcaps" : NULL, w, n);
    case S_DIGITS: return named(any_is(w, *n, DECIMAL) ? "digits" : NULL, w, n);
    case S_HYPHEN: return named(has_hyphen(w, *n) ? "hyphen" : NULL, w, n);
    case S_PUNCTUATION: return named(is_punctuation(w, *n) ? "punctuation" : NULL, w, n);
    case S_GREEK: return named(is_greek(w, *n) ? "greek" : NULL, w, n);
    case S_NUMBER: return named(number_of(w, *n, places), w, n);
    case S_DATE: return named(date_of(w, *n, places), w, n);
    case S_LENGTH: return named(length_of(*n), w, n);
    case S_ORTHOGRAPHY: return named(orthography(w, *n, places), w, n);
    default: return named(script(w, *n), w, n);
    }
}

int atom_run(const atom_step *steps, int count, uint32_t *word, size_t *n, uint8_t *places) {
    for (int k = 0; k < count; k++)
        if (!run_step(steps[k], word, n, places)) return 0;
    return 1;
}
