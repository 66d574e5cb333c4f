/* Routers, and the tokens of experts in their order. */

#define SOFTMAX 0
#define SIGMOID 1

/* One item has a token: scores, what they add up to, the experts and their gates. `left` and `taken` are room. */
KERNEL(choose)(READ(float, logits), READ(float, bias), INT(has_bias), WRITE(float, scores), WRITE(float, sizes),
               WRITE(float, totals), WRITE(int, ties), WRITE(unsigned int, chosen), WRITE(float, gates),
               WRITE(float, left), WRITE(int, taken), INT(tokens), INT(experts), INT(per_token), INT(gate), INT(normalized)) {
    OPEN_READ(float, logits);
    OPEN_READ(float, bias);
    OPEN_WRITE(float, scores);
    OPEN_WRITE(float, sizes);
    OPEN_WRITE(float, totals);
    OPEN_WRITE(int, ties);
    OPEN_WRITE(unsigned int, chosen);
    OPEN_WRITE(float, gates);
    OPEN_WRITE(float, left);
    OPEN_WRITE(int, taken);
    const int token = GROUP(0) * ITEMS + ITEM;
    if (token >= tokens) return;
    logits += (LONG)token * experts;
    scores += (LONG)token * experts;
    left += (LONG)token * experts;
    taken += (LONG)token * experts;
    chosen += (LONG)token * per_token;
    gates += (LONG)token * per_token;
    float most = LOWEST;
    for (int e = 0; e < experts; e++) most = more(most, logits[e]);
    float lanes[LANES];
    for (int l = 0; l < LANES; l++) lanes[l] = 0.0f;
    for (int e = 0; e < experts; e++) {
        scores[e] = exponential(logits[e] - most);
        lanes[e % LANES] = lanes[e % LANES] + scores[e];
    }
    const float total = sum_of_own_lanes(lanes);
    sizes[token] = logarithm(total) + most;
    for (int e = 0; e < experts; e++) scores[e] = gate == SOFTMAX ? scores[e] / total : sigmoid(logits[e]);
    for (int e = 0; e < experts; e++) {
        left[e] = has_bias ? scores[e] + bias[e] : scores[e];
        taken[e] = 0;
    }
    for (int slot = 0; slot < per_token; slot++) {
        float best_score = LOWEST;
        for (int e = 0; e < experts; e++) best_score = more(best_score, left[e]);
        int best = -1;
        for (int e = experts - 1; e >= 0; e--) best = left[e] == best_score ? e : best;
        if (best < 0) {
            for (int e = experts - 1; e >= 0; e--) best = taken[e] ? best : e;
        }
        /* A device that takes what is no number for one may find none: what it computes is refused, and stays in its tables. */
        best = best < 0 ? 0 : best;
        taken[best] = 1;
        left[best] = NO_NUMBER;
    }
    for (int s = 0; s < per_token; s++) chosen[s] = 0;
    int slot = 0;
    float least = 0.0f;
    for (int e = 0; e < experts; e++) {
        if (taken[e]) {
            least = slot == 0 || scores[e] < least ? scores[e] : least;
            chosen[slot] = (unsigned int)e;
            gates[slot] = scores[e];
            slot++;
        }
    }
    /* Whether an expert that was not chosen has no smaller score than one that was. */
    int tie = 0;
    for (int e = 0; e < experts; e++) tie = tie || (!taken[e] && scores[e] >= least);
    ties[token] = tie;
    if (normalized) {
        float sum = gates[0];
        for (int s = 1; s < per_token; s++) sum = sum + gates[s];
        for (int s = 0; s < per_token; s++) gates[s] = gates[s] / sum;
    }
    float of_scores = 1.0f;
    if (gate == SIGMOID) {
        for (int l = 0; l < LANES; l++) lanes[l] = 0.0f;
        for (int e = 0; e < experts; e++) lanes[e % LANES] = lanes[e % LANES] + scores[e];
        of_scores = sum_of_own_lanes(lanes);
    }
    totals[token] = of_scores;
}

/* Tokens whose shares and squares are one sum. */
#define ROUTER_TOKENS 64

/* Of each part of the tokens: the shares of the experts, and behind them the squares of the sizes and the ties. */
KERNEL(router_sums)(READ(float, scores), READ(float, sizes), READ(float, totals), READ(int, ties),
                    WRITE(double, parts), INT(tokens), INT(experts)) {
    OPEN_READ(float, scores);
    OPEN_READ(float, sizes);
    OPEN_READ(float, totals);
    OPEN_READ(int, ties);
    OPEN_WRITE(double, parts);
    const int e = GROUP(1) * ITEMS + ITEM, part = GROUP(0);
    const int from = part * ROUTER_TOKENS, end = from + ROUTER_TOKENS < tokens ? from + ROUTER_TOKENS : tokens;
    if (e > experts + 1) return;
    double sum = 0.0;
    for (int token = from; token < end; token++) {
        if (e < experts) {
            sum = sum + (double)(scores[(LONG)token * experts + e] / totals[token]);
        } else if (e == experts) {
            sum = sum + (double)sizes[token] * (double)sizes[token];
        } else {
            sum = sum + (double)ties[token];
        }
    }
    parts[(LONG)part * (experts + 2) + e] = sum;
}

/* What the loss of uneven loads adds to the gradient of each score. */
KERNEL(uneven)(READ(int, offsets), WRITE(float, into), INT(tokens), INT(experts), INT(per_token), DOUBLE(balance)) {
    OPEN_READ(int, offsets);
    OPEN_WRITE(float, into);
    const int e = GROUP(0) * ITEMS + ITEM;
    if (e >= experts) return;
    const double part = (double)(offsets[e + 1] - offsets[e]) / ((double)tokens * (double)per_token);
    into[e] = (float)(balance * (double)experts * part / (double)tokens);
}

/* The gradient of a token's logits. `slot_rows` say in which row of the experts' table the gradient of a gate lies. */
KERNEL(choose_back)(READ(float, logits), READ(float, scores), READ(float, sizes), READ(float, totals),
                    READ(unsigned int, chosen), READ(float, gates), READ(float, g_rows), READ(int, slot_rows),
                    READ(float, uneven), WRITE(float, into), INT(tokens), INT(experts), INT(per_token), INT(gate),
                    INT(normalized), FLOAT(z)) {
    OPEN_READ(float, logits);
    OPEN_READ(float, scores);
    OPEN_READ(float, sizes);
    OPEN_READ(float, totals);
    OPEN_READ(unsigned int, chosen);
    OPEN_READ(float, gates);
    OPEN_READ(float, g_rows);
    OPEN_READ(int, slot_rows);
    OPEN_READ(float, uneven);
    OPEN_WRITE(float, into);
    const int token = GROUP(0) * ITEMS + ITEM;
    if (token >= tokens) return;
    logits += (LONG)token * experts;
    scores += (LONG)token * experts;
    into += (LONG)token * experts;
    chosen += (LONG)token * per_token;
    gates += (LONG)token * per_token;
    slot_rows += (LONG)token * per_token;
    float mean = 0.0f, divisor = 1.0f;
    if (normalized) {
        mean = g_rows[slot_rows[0]] * gates[0];
        divisor = scores[chosen[0]];
        for (int s = 1; s < per_token; s++) {
            mean = mean + g_rows[slot_rows[s]] * gates[s];
            divisor = divisor + scores[chosen[s]];
        }
    }
    for (int e = 0; e < experts; e++) into[e] = 0.0f;
    for (int s = 0; s < per_token; s++) into[chosen[s]] = (g_rows[slot_rows[s]] - mean) / divisor;
    const float own_z = z * sizes[token], total = totals[token];
    float lanes[LANES];
    for (int l = 0; l < LANES; l++) lanes[l] = 0.0f;
    for (int e = 0; e < experts; e++) {
        if (gate == SOFTMAX) into[e] = into[e] + uneven[e];
        lanes[e % LANES] = lanes[e % LANES] + scores[e] * (gate == SOFTMAX ? into[e] : uneven[e]);
    }
    const float dot = sum_of_own_lanes(lanes), inner = gate == SOFTMAX ? dot : dot / total;
    for (int e = 0; e < experts; e++) {
        if (gate == SOFTMAX) {
            into[e] = scores[e] * (into[e] - inner) + own_z * scores[e];
        } else {
            const float slope = scores[e] * (1.0f - scores[e]), share = (uneven[e] - inner) / total;
            into[e] = (into[e] + share) * slope + own_z * exponential(logits[e] - sizes[token]);
        }
    }
}

/* Slots that one item counts, or puts in their places. */
#define SLOTS 256

/* How many of each part of the slots went to each expert. */
KERNEL(count_choices)(READ(unsigned int, chosen), WRITE(int, counts), INT(slots), INT(experts)) {
    OPEN_READ(unsigned int, chosen);
    OPEN_WRITE(int, counts);
    const int e = GROUP(1) * ITEMS + ITEM, part = GROUP(0);
    const int from = part * SLOTS, end = from + SLOTS < slots ? from + SLOTS : slots;
    if (e >= experts) return;
    int count = 0;
    for (int slot = from; slot < end; slot++) count += (int)chosen[slot] == e;
    counts[(LONG)part * experts + e] = count;
}

/* One group: where the rows of each expert begin, and those of each part of the slots; and the tiles of rows that products
 * over experts work on. Counts become first rows. */
KERNEL(arrange_experts)(WRITE(int, counts), WRITE(int, offsets), WRITE(int, tiles), INT(parts), INT(experts),
                        INT(most_tiles)) {
    OPEN_WRITE(int, counts);
    OPEN_WRITE(int, offsets);
    OPEN_WRITE(int, tiles);
    for (int e = ITEM; e < experts; e += ITEMS) {
        int sum = 0;
        for (int part = 0; part < parts; part++) {
            const int count = counts[(LONG)part * experts + e];
            counts[(LONG)part * experts + e] = sum;
            sum += count;
        }
        offsets[e + 1] = sum;
    }
    SYNC_TABLES();
    if (ITEM == 0) {
        int tile = 0;
        offsets[0] = 0;
        for (int e = 0; e < experts; e++) {
            const int from = offsets[e], end = from + offsets[e + 1];
            offsets[e + 1] = end;
            for (int row = from; row < end && tile < most_tiles; row += TALL) {
                tiles[3 * tile] = e;
                tiles[3 * tile + 1] = row;
                tiles[3 * tile + 2] = end;
                tile++;
            }
        }
        for (; tile < most_tiles; tile++) tiles[3 * tile] = -1;
    }
    SYNC_TABLES();
    for (int e = ITEM; e < experts; e += ITEMS) {
        for (int part = 0; part < parts; part++) counts[(LONG)part * experts + e] += offsets[e];
    }
}

/* The row of each slot, and the token of each row. */
KERNEL(arrange)(READ(unsigned int, chosen), READ(int, starts), WRITE(int, slot_rows), WRITE(int, row_tokens),
                INT(slots), INT(experts), INT(per_token)) {
    OPEN_READ(unsigned int, chosen);
    OPEN_READ(int, starts);
    OPEN_WRITE(int, slot_rows);
    OPEN_WRITE(int, row_tokens);
    const int e = GROUP(1) * ITEMS + ITEM, part = GROUP(0);
    const int from = part * SLOTS, end = from + SLOTS < slots ? from + SLOTS : slots;
    if (e >= experts) return;
    int row = starts[(LONG)part * experts + e];
    for (int slot = from; slot < end; slot++) {
        if ((int)chosen[slot] == e) {
            slot_rows[slot] = row;
            row_tokens[row] = slot / per_token;
            row++;
        }
    }
}

/* The values of slots in the order of the rows. */
KERNEL(to_rows)(READ(float, slots), READ(int, slot_rows), WRITE(float, rows), INT(count)) {
    OPEN_READ(float, slots);
    OPEN_READ(int, slot_rows);
    OPEN_WRITE(float, rows);
    const int slot = GROUP(0) * ITEMS + ITEM;
    if (slot < count) rows[slot_rows[slot]] = slots[slot];
}

/* The rows of a table that are named. */
KERNEL(gather)(READ(float, table), READ(int, names), WRITE(float, into), LONG rows, INT(width)) {
    OPEN_READ(float, table);
    OPEN_READ(int, names);
    OPEN_WRITE(float, into);
    const LONG place = (LONG)GROUP(0) * ITEMS + ITEM;
    if (place >= rows * width) return;
    const LONG row = place / width;
    into[place] = table[(LONG)names[row] * width + (place - row * width)];
}

/* Adds to each token's row the sum of its rows of the table, in the order of its slots. */
KERNEL(add_experts)(READ(float, table), READ(int, slot_rows), WRITE(float, into), LONG tokens, INT(width),
                    INT(per_token)) {
    OPEN_READ(float, table);
    OPEN_READ(int, slot_rows);
    OPEN_WRITE(float, into);
    const LONG place = (LONG)GROUP(0) * ITEMS + ITEM;
    if (place >= tokens * width) return;
    const LONG token = place / width, i = place - token * width;
    slot_rows += token * per_token;
    float sum = table[(LONG)slot_rows[0] * width + i];
    for (int s = 1; s < per_token; s++) sum = sum + table[(LONG)slot_rows[s] * width + i];
    into[place] = into[place] + sum;
}
