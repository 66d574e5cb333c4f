/* Attention between two products: scores to probabilities, and the gradients of these back. Rows are those of batches of
 * `length` rows each. */

/* The halves of heads are rotated against each other; the sign turns them back. */
KERNEL(rotate)(WRITE(float, rows), READ(float, cosines), READ(float, sines), LONG tokens, INT(length), INT(width),
               INT(heads), INT(half_head), FLOAT(sign)) {
    OPEN_WRITE(float, rows);
    OPEN_READ(float, cosines);
    OPEN_READ(float, sines);
    const LONG place = (LONG)GROUP(0) * ITEMS + ITEM, pairs = (LONG)heads * half_head;
    if (place >= tokens * pairs) return;
    const LONG token = place / pairs;
    const int pair = (int)(place - token * pairs), head = pair / half_head, i = pair % half_head;
    const LONG angle = token % length * half_head + i;
    const float cosine = cosines[angle], sine = sign * sines[angle];
    rows += token * width + head * 2 * half_head;
    const float a = rows[i], b = rows[i + half_head];
    rows[i] = a * cosine - b * sine;
    rows[i + half_head] = b * cosine + a * sine;
}

KERNEL(soften)(WRITE(float, scores), LONG rows, INT(length), INT(apart), FLOAT(scale)) {
    OPEN_WRITE(float, scores);
    SHARED(float, lanes, ITEMS);
    const LONG row = OWN_ROW;
    const int lane = ITEM % LANES, own = (int)(row % length), tile_end = own / TILE * TILE + TILE;
    const int end = row < rows ? (tile_end < length ? tile_end : length) : 0;
    scores += row * apart;
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

KERNEL(soften_back)(READ(float, shares), WRITE(float, g), LONG rows, INT(length), INT(apart), FLOAT(scale)) {
    OPEN_READ(float, shares);
    OPEN_WRITE(float, g);
    SHARED(float, lanes, ITEMS);
    const LONG row = OWN_ROW;
    const int lane = ITEM % LANES, own = (int)(row % length), tile_end = own / TILE * TILE + TILE;
    const int end = row < rows ? (tile_end < length ? tile_end : length) : 0;
    shares += row * apart;
    g += row * apart;
    float part = 0.0f;
    for (int j = lane; j < end; j += LANES) {
        const float gradient = j <= own ? g[j] : 0.0f;
        part = part + shares[j] * gradient;
    }
    const float inner = sum_of_lanes(lanes, part);
    for (int j = lane; j < end; j += LANES) g[j] = j <= own ? shares[j] * (g[j] - inner) * scale : 0.0f;
}
