/* Run recorded kernel calls (record.py) on a library and compare: replay LIBRARY CALLS. Any system. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _WIN32
#include <windows.h>
#define OPEN(path) ((void *)LoadLibraryA(path))
#define FIND(library, name) ((void *)GetProcAddress((HMODULE)(library), name))
#else
#include <dlfcn.h>
#define OPEN(path) dlopen(path, RTLD_NOW)
#define FIND(library, name) dlsym(library, name)
#endif

typedef int32_t (*kernel)(const int64_t *, int64_t *);

static FILE *calls;

static void get(void *to, size_t size) {
    if (size && fread(to, 1, size, calls) != size) {
        fprintf(stderr, "the recorded calls are cut off\n");
        exit(2);
    }
}

static int64_t word(void) {
    int64_t value;
    get(&value, 8);
    return value;
}

static char *room(size_t size) { /* aligned as NumPy's arrays are, with something in it if it is empty */
    char *made = malloc(size + 128);
    if (!made) exit(2);
    return made + (64 - (uintptr_t)made % 64);
}

/* One call: 0 if results and arrays are as recorded. */
static int replay(void *library) {
    char name[128] = "palmette_";
    int64_t length = word(), n_results = word(), n_arrays = word();
    get(name + 9, (size_t)length);
    name[9 + length] = 0;
    char *wanted = room((size_t)n_results), *found = room((size_t)n_results);
    get(wanted, (size_t)n_results);
    memset(found, 0, (size_t)n_results);
    int64_t *at = calloc((size_t)n_arrays + 1, 8), *bytes = calloc((size_t)n_arrays + 1, 8);
    char **array = calloc((size_t)n_arrays + 1, sizeof *array);
    for (int64_t k = 0; k < n_arrays; k++) {
        at[k] = word();
        bytes[k] = word();
        array[k] = room((size_t)bytes[k]);
        get(array[k], (size_t)bytes[k]);
    }
    int64_t n = word();
    char **before = calloc((size_t)n, sizeof *before), **after = calloc((size_t)n, sizeof *after);
    int64_t *size = calloc((size_t)n, 8), *compared = calloc((size_t)n, 8);
    int64_t *places = calloc((size_t)n, 8), **place = calloc((size_t)n, sizeof *place);
    for (int64_t k = 0; k < n; k++) {
        size[k] = word();
        compared[k] = word();
        places[k] = word();
        place[k] = calloc((size_t)places[k] + 1, 16);
        get(place[k], 16 * (size_t)places[k]);
        before[k] = room((size_t)size[k]);
        after[k] = room((size_t)compared[k]);
        get(before[k], (size_t)size[k]);
        get(after[k], (size_t)compared[k]);
    }
    for (int64_t k = 0; k < n; k++)
        for (int64_t p = 0; p < places[k]; p++)
            memcpy(before[k] + place[k][2 * p], &before[place[k][2 * p + 1]], 8);
    kernel run = (kernel)FIND(library, name);
    if (!run) {
        printf("%s: not in the library\n", name);
        return 1;
    }
    int status = run((const int64_t *)before[0], (int64_t *)found);
    char **address = calloc((size_t)n_arrays + 1, sizeof *address);
    for (int64_t k = 0; k < n_arrays; k++) { /* owner and address */
        memcpy(&address[k], found + 8 * at[k] + 8, 8);
        memset(found + 8 * at[k], 0, 16);
        memset(wanted + 8 * at[k], 0, 16);
    }
    int differ = status != 0 || memcmp(wanted, found, (size_t)n_results) != 0;
    for (int64_t k = 0; k < n_arrays && !differ; k++)
        if (bytes[k]) differ = memcmp(address[k], array[k], (size_t)bytes[k]) != 0;
    for (int64_t k = 0; k < n; k++)
        if (memcmp(before[k], after[k], (size_t)compared[k])) differ = 1;
    if (differ) printf("%s: differs (status %d)\n", name, status);
    return differ;
}

int main(int argc, char **argv) {
    void *library = argc == 3 ? OPEN(argv[1]) : NULL;
    calls = argc == 3 ? fopen(argv[2], "rb") : NULL;
    if (!library || !calls) {
        fprintf(stderr, "replay LIBRARY CALLS: the library or the calls cannot be opened\n");
        return 2;
    }
    int64_t n = word(), differ = 0;
    for (int64_t k = 0; k < n; k++) differ += replay(library);
    printf("%d calls, %d differ\n", (int)n, (int)differ);
    return differ != 0;
}
