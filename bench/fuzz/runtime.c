/* Open a model, use it on some sentences and call every function; 1 if it is refused. */

#include <string.h>

#include "palmette.h"

static const char *const TOKENS[] = {"The", "old", "12:30pm", "\xC4\xB0\xCE\xA3", "w=The", "", "boat", "$1,234.50"};

int main(int count, char **words) {
    char message[300];
    palmette_model *model;
    if (count < 2 || palmette_open(words[1], &model, message, sizeof message)) return 1;
    palmette_sentence *sentence = palmette_sentence_new(model);
    int columns = palmette_columns(model) ? palmette_columns(model) : 3;
    for (int n = 1; n < 200 && sentence; n = n * 3 + 1) {
        palmette_clear(sentence);
        for (int i = 0; i < n; i++) {
            palmette_token(sentence);
            for (int k = 0; k < columns && k < 20; k++) {
                const char *cell = TOKENS[(i + 3 * k) % 8];
                palmette_cell(sentence, cell, strlen(cell), columns ? 1.0f : 0.5f);
            }
        }
        if (palmette_tag(sentence, 1 + n % 5)) continue;
        for (int k = 0; k < palmette_found(sentence); k++)
            for (int i = 0; i < n; i++) (void)palmette_label(model, palmette_path(sentence, k)[i]);
        for (int i = 0; i < n && n < 20; i++)
            for (int k = 0; k < palmette_active(sentence, i); k++) {
                (void)palmette_attribute(sentence, i, k);
                (void)palmette_weight(sentence, i, k, palmette_labels(model) - 1);
                (void)palmette_own(sentence, i, 0);
            }
    }
    palmette_sentence_free(sentence);
    palmette_close(model);
    return 0;
}
