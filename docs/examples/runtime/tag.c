/* Tag one sentence of columns, a token per line on standard input: cc tag.c -lpalmette && ./a.out chunk.palm < input */

#include <palmette.h>
#include <stdio.h>
#include <string.h>

int main(int count, char **words) {
    char message[300], line[4096];
    palmette_model *model;
    if (count != 2) return fprintf(stderr, "usage: tag MODEL < TOKENS\n"), 2;
    if (palmette_open(words[1], &model, message, sizeof message)) return fprintf(stderr, "%s: %s\n", words[1], message), 1;
    palmette_sentence *sentence = palmette_sentence_new(model);
    int failed = sentence ? PALMETTE_OK : PALMETTE_MEMORY;
    while (!failed && fgets(line, sizeof line, stdin)) {
        failed = palmette_token(sentence);
        for (char *cell = strtok(line, " \t\r\n"); cell && !failed; cell = strtok(NULL, " \t\r\n"))
            failed = palmette_cell(sentence, cell, strlen(cell), 1.0f);
    }
    if (!failed) failed = palmette_tag(sentence, 3);
    if (failed) fprintf(stderr, "%s\n", sentence ? palmette_message(sentence) : "memory ran out");
    for (int k = 0; !failed && k < palmette_found(sentence); k++) {
        printf("%.3f", palmette_score(sentence, k));
        for (int i = 0; i < palmette_tokens(sentence); i++)
            printf(" %s", palmette_label(model, palmette_path(sentence, k)[i]));
        printf("\n");
    }
    palmette_sentence_free(sentence);
    palmette_close(model);
    return failed != PALMETTE_OK;
}
