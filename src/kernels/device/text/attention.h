/* Attention between two products: scores to probabilities, and the gradients of these back. Rows are those of batches of
 * `length` rows each. */

/* The halves of heads are rotated against each other; the sign turns them back. */
KERNEL(rotate)(WRITE(float, rows), READ(float, cosines), READ(float, sines), READ(unsigned int, positions),
               INT(has_positions), LONG tokens, INT(length), INT(width), INT(heads), INT(half_head), FLOAT(sign)) {
    OPEN_WRITE(float, rows);
    OPEN_READ(float, cosines);
    OPEN_READ(float, sines);
    OPEN_READ(unsigned int, positions);
    const LONG place = (LONG)GROUP(0) * ITEMS + ITEM, pairs = (LONG)heads * half_head;
    if (place >= tokens * pairs) return;
    const LONG token = place / pairs;
    const int pair = (int)(place - token * pairs), head = pair / half_head, i = pair % half_head;
    const LONG position = has_positions ? (LONG)positions[token] : token % length, angle = position * half_head + i;
    const float cosine = cosines[angle], sine = sign * sines[angle];
    rows += token * width + head * 2 * half_head;
    const float a = rows[i], b = rows[i + half_head];
    rows[i] = a * cosine - b * sine;
    rows[i + half_head] = b * cosine + a * sine;
}

/* Where the scores of a row end that its tile has. */
#define TILE_END(own) ((own) / TILE * TILE + TILE < length ? (own) / TILE * TILE + TILE : length)

/* Raw scores become those of a softmax: limited softly where there is a cap, and hidden where a row sees no more of a key, which
 * is before its window or of another document. Limited scores are kept for the way back. An item has a score. */
KERNEL(limit_scores)(WRITE(float, scores), WRITE(float, limited), READ(unsigned int, documents), INT(has_documents),
                     LONG rows, INT(length), INT(heads), FLOAT(scale), INT(has_cap), FLOAT(cap), INT(window)) {
    OPEN_WRITE(float, scores);
    OPEN_WRITE(float, limited);
    OPEN_READ(unsigned int, documents);
    const LONG place = (LONG)GROUP(0) * ITEMS + ITEM;
    if (place >= rows * length) return;
    const LONG row = place / length;
    const int key = (int)(place - row * length), own = (int)(row % length);
    if (key >= TILE_END(own)) return;
    float score = scores[place];
    if (has_cap) {
        score = cap * hyperbolic_tangent(score * scale / cap);
        limited[place] = score;
    }
    documents += row / length / heads * length;
    const int is_other = has_documents && documents[key] != documents[own];
    scores[place] = key < own && (own - key >= window || is_other) ? LOWEST : score;
}

/* The gradients of raw scores from those of limited ones. */
KERNEL(limit_scores_back)(READ(float, limited), WRITE(float, g), LONG rows, INT(length), FLOAT(scale), FLOAT(cap)) {
    OPEN_READ(float, limited);
    OPEN_WRITE(float, g);
    const LONG place = (LONG)GROUP(0) * ITEMS + ITEM;
    if (place >= rows * length) return;
    const int own = (int)(place / length % length);
    if (place % length >= TILE_END(own)) return;
    const float share = limited[place] / cap;
    g[place] = g[place] * (1.0f - share * share) * scale;
}

KERNEL(soften)(WRITE(float, scores), LONG rows, INT(length), FLOAT(scale)) {
    OPEN_WRITE(float, scores);
    SHARED(float, lanes, ITEMS);
    const LONG row = OWN_ROW;
    const int lane = ITEM % LANES, own = (int)(row % length), end = row < rows ? TILE_END(own) : 0;
    scores += row * length;
    float part = LOWEST;
    for (int j = lane; j < end && j <= own; j += LANES) part = more(part, scores[j]);
    const float most = largest_of_lanes(lanes, part);
    part = 0.0f;
    for (int j = lane; j < end; j += LANES) {
        const float score = j <= own ? scores[j] : LOWEST;
        scores[j] = exponential((score - most) * scale);
        part = part + scores[j];
    }
    const float factor = 1.0f / sum_of_lanes(lanes, part);
    for (int j = lane; j < end; j += LANES) scores[j] = scores[j] * factor;
}

KERNEL(soften_back)(READ(float, shares), WRITE(float, g), LONG rows, INT(length), FLOAT(scale)) {
    OPEN_READ(float, shares);
    OPEN_WRITE(float, g);
    SHARED(float, lanes, ITEMS);
    const LONG row = OWN_ROW;
    const int lane = ITEM % LANES, own = (int)(row % length), end = row < rows ? TILE_END(own) : 0;
    shares += row * length;
    g += row * length;
    float part = 0.0f;
    for (int j = lane; j < end; j += LANES) {
        const float gradient = j <= own ? g[j] : 0.0f;
        part = part + shares[j] * gradient;
    }
    const float inner = sum_of_lanes(lanes, part);
    for (int j = lane; j < end; j += LANES) g[j] = j <= own ? shares[j] * (g[j] - inner) * scale : 0.0f;
}
