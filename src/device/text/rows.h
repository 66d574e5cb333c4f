/* What is made of rows of numbers: sixteen items have a row. */

#define OWN_ROW ((LONG)GROUP(0) * ROWS + ITEM / LANES)

KERNEL(norm_forward)(READ(float, x), READ(float, weight), WRITE(float, y), INT(rows), INT(width), FLOAT(epsilon)) {
    OPEN_READ(float, x);
    OPEN_READ(float, weight);
    OPEN_WRITE(float, y);
    SHARED(float, lanes, ITEMS);
    const LONG row = OWN_ROW;
    const int lane = ITEM % LANES, live = row < rows ? width : 0;
    x += row * width;
    y += row * width;
    float own = 0.0f;
    for (int i = lane; i < live; i += LANES) own = own + x[i] * x[i];
    const float squares = sum_of_lanes(lanes, own);
    const float r = 1.0f / SQRT(squares / (float)width + epsilon);
    for (int i = lane; i < live; i += LANES) y[i] = x[i] * r * weight[i];
}

/* The gradient of rows, and the factor of each row. */
KERNEL(norm_backward)(READ(float, x), READ(float, weight), READ(float, g), READ(float, residual), INT(has_residual),
                      WRITE(float, gx), WRITE(float, factors), INT(rows), INT(width), FLOAT(epsilon)) {
    OPEN_READ(float, x);
    OPEN_READ(float, weight);
    OPEN_READ(float, g);
    OPEN_READ(float, residual);
    OPEN_WRITE(float, gx);
    OPEN_WRITE(float, factors);
    SHARED(float, lanes, ITEMS);
    const LONG row = OWN_ROW;
    const int lane = ITEM % LANES, live = row < rows ? width : 0;
    x += row * width;
    g += row * width;
    gx += row * width;
    residual += row * width;
    float own = 0.0f;
    for (int i = lane; i < live; i += LANES) own = own + x[i] * x[i];
    const float squares = sum_of_lanes(lanes, own);
    const float r = 1.0f / SQRT(squares / (float)width + epsilon);
    own = 0.0f;
    for (int i = lane; i < live; i += LANES) own = own + g[i] * weight[i] * x[i];
    const float dot = sum_of_lanes(lanes, own);
    const float c = dot * r * r * r / (float)width;
    for (int i = lane; i < live; i += LANES) {
        const float before = has_residual ? residual[i] : 0.0f;
        gx[i] = before + (g[i] * weight[i] * r - x[i] * c);
    }
    if (lane == 0 && row < rows) factors[row] = r;
}

/* Rows whose gradients of the weight are one sum. */
#define NORM_ROWS 64

KERNEL(norm_parts)(READ(float, x), READ(float, g), READ(float, factors), WRITE(float, parts), INT(rows), INT(width)) {
    OPEN_READ(float, x);
    OPEN_READ(float, g);
    OPEN_READ(float, factors);
    OPEN_WRITE(float, parts);
    const int i = GROUP(1) * ITEMS + ITEM, part = GROUP(0);
    const int from = part * NORM_ROWS, end = from + NORM_ROWS < rows ? from + NORM_ROWS : rows;
    if (i >= width) return;
    float sum = 0.0f;
    for (int row = from; row < end; row++) {
        const LONG place = (LONG)row * width + i;
        sum = sum + g[place] * x[place] * factors[row];
    }
    parts[(LONG)part * width + i] = sum;
}

/* Sums of columns in the order of the rows, from +0. */
KERNEL(sum_rows)(READ(float, x), WRITE(float, y), INT(rows), INT(width)) {
    OPEN_READ(float, x);
    OPEN_WRITE(float, y);
    const int i = GROUP(0) * ITEMS + ITEM;
    if (i >= width) return;
    float sum = 0.0f;
    for (int row = 0; row < rows; row++) sum = sum + x[(LONG)row * width + i];
    y[i] = sum;
}

/* The inner rows of a gated network, times the gate of the row where there is one. */
KERNEL(swiglu_forward)(READ(float, a_b), READ(float, gates), INT(has_gates), WRITE(float, s), LONG rows, INT(width)) {
    OPEN_READ(float, a_b);
    OPEN_READ(float, gates);
    OPEN_WRITE(float, s);
    const LONG place = (LONG)GROUP(0) * ITEMS + ITEM;
    if (place >= rows * width) return;
    const LONG row = place / width, i = place - row * width;
    const float a = a_b[row * 2 * width + i], b = a_b[row * 2 * width + width + i];
    float inner = a * sigmoid(a) * b;
    if (has_gates) inner = inner * gates[row];
    s[place] = inner;
}

KERNEL(swiglu_backward)(READ(float, a_b), READ(float, gates), INT(has_gates), READ(float, gs), WRITE(float, s),
                        WRITE(float, g_a_b), WRITE(float, g_gates), INT(rows), INT(width)) {
    OPEN_READ(float, a_b);
    OPEN_READ(float, gates);
    OPEN_READ(float, gs);
    OPEN_WRITE(float, s);
    OPEN_WRITE(float, g_a_b);
    OPEN_WRITE(float, g_gates);
    SHARED(float, lanes, ITEMS);
    const LONG row = OWN_ROW;
    const int lane = ITEM % LANES, live = row < rows ? width : 0;
    a_b += row * 2 * width;
    g_a_b += row * 2 * width;
    gs += row * width;
    s += row * width;
    const float gate = has_gates && row < rows ? gates[row] : 1.0f;
    float own = 0.0f;
    for (int i = lane; i < live; i += LANES) {
        const float a = a_b[i], b = a_b[width + i], g = has_gates ? gs[i] * gate : gs[i];
        const float p = sigmoid(a), inner = a * p * b;
        g_a_b[i] = g * b * (p + a * p * (1.0f - p));
        g_a_b[width + i] = g * a * p;
        s[i] = has_gates ? inner * gate : inner;
        own = own + gs[i] * inner;
    }
    const float sum = sum_of_lanes(lanes, own);
    if (has_gates && lane == 0 && row < rows) g_gates[row] = sum;
}

/* Logits become the gradient of the mean of `count` surprises; `part` is one over that count. */
KERNEL(cross_entropy)(WRITE(float, logits), READ(unsigned int, targets), WRITE(float, nats), INT(rows), INT(columns),
                      FLOAT(part)) {
    OPEN_WRITE(float, logits);
    OPEN_READ(unsigned int, targets);
    OPEN_WRITE(float, nats);
    SHARED(float, lanes, ITEMS);
    const LONG row = OWN_ROW;
    const int lane = ITEM % LANES, live = row < rows ? columns : 0;
    logits += row * columns;
    const int target = live ? (int)targets[row] : 0;
    const float at_target = live ? logits[target] : 0.0f;
    float own = LOWEST;
    for (int i = lane; i < live; i += LANES) own = more(own, logits[i]);
    const float most = largest_of_lanes(lanes, own);
    own = 0.0f;
    for (int i = lane; i < live; i += LANES) {
        logits[i] = exponential(logits[i] - most);
        own = own + logits[i];
    }
    const float total = sum_of_lanes(lanes, own);
    const float factor = part / total;
    for (int i = lane; i < live; i += LANES) {
        const float g = logits[i] * factor;
        logits[i] = i == target ? g - part : g;
    }
    if (lane == 0 && live) nats[row] = logarithm(total) + (most - at_target);
}

KERNEL(score)(READ(float, logits), READ(unsigned int, targets), WRITE(float, nats), WRITE(int, greedy), INT(rows),
              INT(columns)) {
    OPEN_READ(float, logits);
    OPEN_READ(unsigned int, targets);
    OPEN_WRITE(float, nats);
    OPEN_WRITE(int, greedy);
    SHARED(float, lanes, ITEMS);
    SHARED(int, places, ITEMS);
    const LONG row = OWN_ROW;
    const int lane = ITEM % LANES, live = row < rows ? columns : 0;
    logits += row * columns;
    float own = LOWEST;
    for (int i = lane; i < live; i += LANES) own = more(own, logits[i]);
    const float most = largest_of_lanes(lanes, own);
    own = 0.0f;
    int place = columns;
    for (int i = lane; i < live; i += LANES) {
        own = own + exponential(logits[i] - most);
        if (place == columns && logits[i] == most) place = i;
    }
    const float total = sum_of_lanes(lanes, own);
    const int guess = least_of_lanes(places, place);
    if (lane == 0 && live) {
        const int target = (int)targets[row];
        nats[row] = logarithm(total) + (most - logits[target]);
        greedy[row] = guess == target;
    }
}
